#include "fuzz/campaign/campaign_run.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/worker/worker_command.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/process.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr int kMostFruitless = 5;
constexpr useconds_t kTick = 20'000;  // microseconds
constexpr std::size_t kLogTail = 4U << 20U;

}  // namespace

CampaignRun::CampaignRun(CampaignSetup& setup, Archive& archive, std::vector<std::size_t> order)
    : setup_(setup),
      archive_(archive),
      turns_(std::move(order),
             slice_seconds(setup.options.seconds, static_cast<int>(setup.jobs), setup.subjects.size()),
             setup.options.climb && setup.options.executor == "cpu", setup.jobs),
      supervisor_(setup.jobs, setup.machine.grace),
      slots_(setup.jobs),
      begin_(std::chrono::steady_clock::now()) {
  // Two machines may have the same pid in the same second; the last part tells them apart.
  driver_id_ = fmt::format("{}of{}.{}.{}.{}.{:08x}", setup.shard.index, setup.shard.count, setup.restart, ::getpid(),
                           static_cast<std::int64_t>(std::time(nullptr)), std::random_device()());
}

double CampaignRun::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void CampaignRun::stop(Stop why, const std::string& message) {
  if (stop_ >= why) return;
  stop_ = why;
  message_ = message;
  if (why != Stop::time_over) supervisor_.stop();
}

int CampaignRun::run() {
  executions_before_ = archive_.summary().executions;
  rejected_ = count_files(setup_.folder.rejected());
  try {
    loop();
  } catch (const std::exception& e) {
    stop(Stop::failed, e.what());
    supervisor_.stop();
    while (supervisor_.running() > 0) {  // they save what they have; nothing of ours is followed up any more
      supervisor_.poll();
      ::usleep(kTick);
    }
  }
  return finish();
}

void CampaignRun::loop() {
  for (;;) {
    for (const WorkerEnd& end : supervisor_.poll()) {
      follow_up(end);
      std::error_code ignored;  // a finding has its bytes by now
      fs::remove(climbing_file(slots_[end.slot].artifact_prefix), ignored);
    }
    watch();
    fill_slots();
    if (supervisor_.running() == 0 && stop_ != Stop::no) return;
    show_status();
    ::usleep(kTick);
  }
}

void CampaignRun::watch() {
  if (setup_.machine.stop_requested()) stop(Stop::interrupted);
  if (stop_ == Stop::no && setup_.options.seconds - now() < kLeastPhase) stop(Stop::time_over);
  if (stop_ <= Stop::time_over && now() >= next_space_check_) {
    next_space_check_ = now() + 1;
    require_space(setup_.machine, setup_.folder);
  }
}

void CampaignRun::fill_slots() {
  if (stop_ == Stop::interrupted || stop_ == Stop::failed) return;
  const double left = setup_.options.seconds - now();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (supervisor_.busy(slot)) continue;
    const auto job = stop_ == Stop::no ? turns_.next(slot, now(), left) : turns_.next_minimise(left);
    if (!job) continue;
    start(slot, *job);
  }
}

void CampaignRun::start(std::size_t slot, const Job& job) {
  const Listed& one = setup_.subjects[job.subject];
  const std::string subject = subject_folder(one);
  rejected_ += reject_unfit(setup_.folder, subject, longest_input(setup_.options.target));
  ++started_;
  Slot& s = slots_[slot];
  s.job = job;
  s.run_id = fmt::format("{}.{}", driver_id_, started_);
  s.log = setup_.folder.log() / fmt::format("worker-{}.log", slot);
  s.artifact_prefix = setup_.folder.artifacts() / fmt::format("{}-{}-", subject, s.run_id);
  constexpr std::uint64_t kStartsOfDriver = std::uint64_t{1} << 32U;
  const WorkerPlan plan{setup_.program,
                        setup_.folder.archive(),
                        setup_.folder.corpus() / subject,
                        s.artifact_prefix,
                        setup_.folder.suspects() / subject,
                        std::max(1, default_jobs() / static_cast<int>(setup_.jobs)),
                        setup_.subject(one),
                        s.run_id,
                        setup_.options.guide,
                        setup_.options.stop_on_finding,
                        engine_seed(setup_.options.seed, setup_.shard.index, setup_.restart,
                                    setup_.description.starts * kStartsOfDriver + started_)};
  // One input may take the engine's limit, then it has to write.
  supervisor_.start(slot, worker_command(plan, job), s.log, job.seconds, setup_.machine.patience);
}

void CampaignRun::follow_up(const WorkerEnd& end) {
  const Slot& slot = slots_[end.slot];
  const Job job = slot.job;
  const std::string log = tail_of(slot.log, kLogTail);
  const std::string said = last_line(log);
  const CrashReport report = read_report(log);
  const Ending ending = end.overdue ? Ending::hang : classify(end.status, end.asked, report);
  if (ending == Ending::usage || ending == Ending::infrastructure) {
    usage_ = ending == Ending::usage;
    return stop(Stop::failed, said.empty() ? "a worker " + describe_status(end.status) : said);
  }
  if (job.kind == Job::Kind::minimise) {
    if (ending != Ending::done) {
      status_.say(fmt::format("minimising the findings of {}: the process {}: {}",
                              subject_text(setup_.subject(setup_.subjects[job.subject])), describe_status(end.status),
                              said));
    }
    return write_findings(archive_.findings(), setup_.folder);
  }
  const fs::path artifact = artifact_of(slot.artifact_prefix);
  const bool early = !end.asked && end.seconds < job.seconds / 2;
  const bool worked = !artifact.empty() || archive_.executions(slot.run_id) > 0;
  if (worked) fruitless_ = 0;
  const bool stopped_by_finding = ending == Ending::finding && setup_.options.stop_on_finding;
  if (is_death(ending)) after_death(end, ending, report, artifact);
  if (ending == Ending::restart) turns_.again(end.slot, job, end.seconds);
  if (ending == Ending::odd || (ending == Ending::finding && !stopped_by_finding)) {
    turns_.crashed(end.slot, job.subject, now());
    status_.say(fmt::format("a worker of {} {}: {}", subject_text(setup_.subject(setup_.subjects[job.subject])),
                            describe_status(end.status), said));
  }
  if (ending == Ending::done) {
    turns_.survived(job.subject);
    if (!worked && early && job.kind == Job::Kind::fuzz) count_fruitless(end, said);
  } else if (!worked && !stopped_by_finding && !end.overdue) {
    count_fruitless(end, said);
  }
  find_unminimised(job.subject);
  if (stopped_by_finding || (is_death(ending) && setup_.options.stop_on_finding)) stop(Stop::finding);
}

void CampaignRun::count_fruitless(const WorkerEnd& end, const std::string& said) {
  if (++fruitless_ < kMostFruitless) return;
  stop(Stop::failed,
       fmt::format("target {}: {} workers in a row ended before they had run an input; the last {}{}{}",
                   setup_.options.target, fruitless_, describe_status(end.status), said.empty() ? "" : ": ", said));
}

void CampaignRun::show_status() {
  if (!status_.due() || now() < next_status_) return;
  const double begin = now();
  const Summary numbers = archive_.summary();
  const StatusFacts facts{
      count_files(setup_.folder.corpus()), rejected_, supervisor_.running(),
      std::max(0.0, setup_.options.seconds - now()),
      static_cast<double>(numbers.executions - std::min(numbers.executions, executions_before_)) / now()};
  status_.show(status_text(setup_.options.target, numbers, facts));
  constexpr double kShare = 0.05;  // of the driver's time goes into reading a large archive
  next_status_ = now() + (now() - begin) / kShare;
}

int CampaignRun::finish() {
  const double seconds = now();
  const bool interrupted = stop_ == Stop::interrupted, failed = stop_ == Stop::failed;
  setup_.description.state = failed ? "failed" : interrupted ? "interrupted" : "finished";
  int code = 0;
  try {
    archive_.flush();
    const auto findings = archive_.findings();
    write_findings(findings, setup_.folder);
    write_description(setup_.folder, setup_.description);
    std::printf("fuzz %s: %s after %.0f s, %zu subjects, %llu corpus files, %llu rejected\n\n%s",
                setup_.options.target.c_str(), setup_.description.state.c_str(), seconds, setup_.subjects.size(),
                static_cast<unsigned long long>(count_files(setup_.folder.corpus())),
                static_cast<unsigned long long>(rejected_), numbers_table(archive_.summary()).c_str());
    if (!findings.empty()) std::printf("\n%s", findings_text(findings, setup_.folder, setup_.description).c_str());
    std::printf("%s", suspects_text(setup_.folder, setup_.options.target).c_str());
    for (const Finding& f : findings) {
      if (against_us(f.subject, setup_.description.listed)) code = 1;
    }
  } catch (const InfrastructureError&) {
    if (!failed) throw;  // else the first failure is the one to tell
  }
  if (failed && usage_) throw UsageError(message_);
  if (failed) throw InfrastructureError(message_);
  if (interrupted) status_.say("interrupted; everything is saved, and the same command goes on from there");
  return code;
}

}  // namespace flashproof
