// What a worker's crash is recorded as, and which findings still lack a witness.
#include <fmt/format.h>

#include <ctime>

#include "fuzz/campaign/campaign_run.h"
#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/worker/worker_command.h"
#include "reference/system/atomic_file.h"
#include "reference/system/process.h"

namespace flashproof {

namespace fs = std::filesystem;

void CampaignRun::after_death(const WorkerEnd& end, Ending ending, const CrashReport& report,
                              const fs::path& artifact) {
  const Slot& slot = slots_[end.slot];
  const Listed& one = setup_.subjects[slot.job.subject];
  const std::string subject = subject_folder(one);
  turns_.crashed(end.slot, slot.job.subject, now());

  Finding finding;
  finding.subject = setup_.subject(one);
  finding.what = name(ending);
  // The stable part of the report stands in the key, so that one defect is one finding. A hang's place is chance.
  if (ending == Ending::crash || ending == Ending::sanitizer) finding.term = crash_key(end.status, report);
  finding.detail = end.overdue           ? fmt::format("no end within {} s after its time", setup_.machine.patience)
                   : report.line.empty() ? "the worker " + describe_status(end.status)
                                         : report.line;
  finding.first = finding.last = static_cast<std::int64_t>(std::time(nullptr));
  finding.hits = 1;
  constexpr std::size_t kLongestArtifact = 16U << 20U;
  if (!artifact.empty()) {
    finding.input = read_regular(artifact, kLongestArtifact).value_or(Bytes());
    constexpr double kDescribeSeconds = 10;
    const Answer answer = ask_target(describe_command(setup_.program, finding.subject, artifact), kDescribeSeconds);
    if (!answer.timed_out && answer.status == 0) finding.case_line = last_line(answer.out);
    if (reject_input(setup_.folder, subject, finding.input)) ++rejected_;
  }
  const bool is_new = !archive_.knows(finding);
  archive_.report(finding, slot.run_id);
  archive_.flush();
  if (is_new) {
    status_.say(fmt::format("{}: {}: {}", subject_text(finding.subject), finding.what, finding.detail));
    constexpr std::size_t kKept = 64U << 10U;
    write_atomically(setup_.folder.log() / fmt::format("{}.log", finding_name(finding)), tail_of(slot.log, kKept));
  } else if (!artifact.empty()) {
    std::error_code ignored;  // one artifact per finding is enough
    fs::remove(artifact, ignored);
  }
}

void CampaignRun::find_unminimised(std::size_t subject) {
  for (const Finding& f : archive_.unminimised()) {
    if (!minimisable(f) || f.subject != setup_.subject(setup_.subjects[subject])) continue;
    if (minimised_.insert(finding_name(f)).second) turns_.want_minimise(subject);
  }
}

}  // namespace flashproof
