#include "fuzz/targets/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "kernels/run/run.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;
void stop(int) { asked_to_stop = 1; }

std::int64_t utc() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr double kFlushSeconds = 1;
constexpr std::size_t kLinesWithLaws = 4;  // the first of a seed file; each law costs several runs

/// After these no launch of this process can succeed any more. What fails as a launch only ("batch:") has been survived.
bool loses_context(const Score& score, Executor executor) {
  return executor == Executor::cuda && score.failed() && score.verdict.failure == Failure::error &&
         !score.what.starts_with("batch:") && !score.what.ends_with("harness");
}

constexpr std::size_t kLongestDetail = 2000;

}  // namespace

std::uint64_t hash_of(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * 0x100000001b3;
  return hash;
}

void write_input(const std::filesystem::path& folder, std::span<const std::uint8_t> bytes) {
  write_atomically(folder / fmt::format("{:016x}", hash_of(bytes)), std::string(bytes.begin(), bytes.end()));
}

Session::Session(const Target& target, SessionOptions options) : target_(target), options_(std::move(options)) {
  const bool one = !options_.kernel.empty();
  for (TargetSubject& subject : target_.subjects()) {
    const bool chosen = one ? subject.kernel == options_.kernel && info(subject.format).name == options_.format
                            : subject.form == name(Form::hardened) || options_.list;
    if (chosen) subjects_.push_back(std::move(subject));
  }
  if (subjects_.empty()) {
    throw UsageError("--kernel " + quote(options_.kernel) + " --format " + quote(options_.format) + ": target " +
                     std::string(target_.name) + " has no such subject; --list names them");
  }
  if (options_.run.empty()) options_.run = fmt::format("{}.{}", utc(), ::getpid());
  run_.id = options_.run;
  run_.subject = key_of(subjects_.front());
  if (!one) run_.subject.kernel = run_.subject.format = "*";
  if (!options_.archive.empty()) archive_.emplace(options_.archive, Archive::Open::create);
  started_ = flushed_ = steady_seconds();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, stop);
}

const TargetSubject& Session::subject_of(std::uint8_t kernel) const { return subjects_[kernel % subjects_.size()]; }

Subject Session::key_of(const TargetSubject& subject) const {
  return {std::string(target_.name), subject.kernel, std::string(info(subject.format).name),
          std::string(name(options_.executor)), "det"};
}

std::optional<Session::Found> Session::evaluate(const FuzzInput& input) {
  const TargetSubject& subject = subject_of(input.kernel);
  ++run_.executions;
  try {
    Found found{&subject, target_.run(subject, in_format(subject, input), options_.executor)};
    if (!found.scored.score.ran) return std::nullopt;
    ++run_.judged;
    run_.escalated += found.scored.score.climbed;
    return found;
  } catch (const UsageError&) {  // not a case
    return std::nullopt;
  }
}

void Session::keep(const Found& found, const FuzzInput& input, std::span<const std::uint8_t> bytes) {
  const auto& [score, case_line, shape_class, finding_class] = found.scored;
  for (const TermRatio& term : score.terms) {
    Elite elite{.subject = key_of(*found.subject), .shape_class = shape_class, .term = std::string(term.term)};
    elite.ratio = term.ratio;
    const auto known = archive_->ratio(elite);
    if (known && *known >= term.ratio) continue;
    elite.case_line = case_line;
    elite.input.assign(bytes.begin(), bytes.end());
    elite.where = fmt::format("row {} column {}", term.row, term.column);
    elite.found = utc();
    archive_->offer(elite);
  }
  if (!score.failed()) return;
  Finding finding{
      .subject = key_of(*found.subject), .what = score.what, .shape_class = finding_class, .term = score.term};
  finding.schedule = to_string(input.order());
  finding.ratio = score.ratio;
  finding.case_line = case_line;
  finding.detail = legible(score.verdict.detail, kLongestDetail);
  finding.input.assign(bytes.begin(), bytes.end());
  finding.hits = 1;
  finding.first = finding.last = utc();
  archive_->report(finding, run_.id);
  // Its first hit is safe at once: the next input may be one that never ends.
  const bool first =
      reported_.insert(finding.what + '\n' + finding.shape_class + '\n' + finding.term + '\n' + finding.subject.kernel)
          .second;
  if (first) flush();
  if (loses_context(score, options_.executor)) leave_lost();
  if (options_.stop_on_finding) {
    say_finding(found);
    flush();
    std::_Exit(1);
  }
}

void Session::leave_lost() {
  flush();
  std::_Exit(kExitLost);
}

void Session::say_finding(const Found& found) const {
  std::fprintf(stderr, "flashproof: finding: %s %s: %s: %s\n", found.subject->kernel.c_str(),
               found.scored.case_line.c_str(), found.scored.score.what.c_str(),
               legible(found.scored.score.verdict.detail, kLongestDetail).c_str());
}

int Session::run(std::span<const std::uint8_t> bytes) {
  FuzzInput input = decode_input(target_.problem(subject_of(kernel_byte(bytes))), bytes);
  const std::optional<Found> found = evaluate(input);
  if (found) {
    give_feedback(found->scored.score, options_.guide);
    if (archive_) {
      keep(*found, input, bytes);
    } else if (found->scored.score.failed()) {
      say_finding(*found);
      std::abort();  // the engine keeps the input
    }
  }
  tick();
  return found ? 0 : -1;
}

void Session::tick() {
  if (asked_to_stop != 0) {
    flush();
    std::_Exit(0);  // the engine's own way out would forget what stands after it
  }
  if (archive_ && steady_seconds() - flushed_ >= kFlushSeconds) flush();
}

void Session::flush() {
  if (!archive_) return;
  flushed_ = steady_seconds();
  run_.seconds = flushed_ - started_;
  archive_->record(run_);
  archive_->flush();
}

void Session::minimise(int tries) {
  for (Finding& finding : archive_->findings()) {
    const auto subject =
        std::ranges::find_if(subjects_, [&](const TargetSubject& s) { return key_of(s) == finding.subject; });
    if (subject == subjects_.end() || !finding.witness.empty() || !minimisable(finding)) continue;
    const FuzzInput input = in_format(*subject, decode_input(target_.problem(*subject), finding.input));
    try {
      const Minimised smallest = target_.minimise(*subject, input, options_.executor, {finding.what, finding.term},
                                                  tries, [] { return asked_to_stop != 0; });
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(smallest.witness.data());
      finding.witness.assign(bytes, bytes + smallest.witness.size());
      finding.brief = smallest.brief;
      archive_->put_witness(finding);
    } catch (const UsageError& error) {  // its input stands for another case now: the tables have changed
      std::fprintf(stderr, "flashproof: %s: %s\n", finding.case_line.c_str(), printable(error.what(), 300).c_str());
    }
    tick();
  }
  flush();
}

void Session::list() const {
  std::printf("#tables %016llx\n", static_cast<unsigned long long>(tables_fingerprint()));
  for (const TargetSubject& s : subjects_) {
    std::printf("%s\t%s\t%s\n", s.kernel.c_str(), s.form.c_str(), std::string(info(s.format).name).c_str());
  }
}

void Session::describe_input(const std::string& file) const {
  const std::string bytes = read_file(file, kMostFile);
  const std::span input(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const TargetSubject& subject = subject_of(kernel_byte(input));
  std::printf("%s %s %s\n", subject.kernel.c_str(), std::string(info(subject.format).name).c_str(),
              describe(in_format(subject, decode_input(target_.problem(subject), input))).c_str());
}

void Session::write_seeds(const std::string& file, const std::string& folder) {
  std::istringstream stream(read_file(file, kMostFile));
  std::filesystem::create_directories(folder);
  const std::vector<TargetSubject> all = target_.subjects();
  std::size_t written = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') continue;
    FuzzInput input;
    input.origin.spec = parse_case_spec(line);
    // A seed of a gradient may be written as its forward problem's.
    if (target_.name == "backward" && input.origin.spec.problem == ProblemKind::attention) {
      input.origin.spec.problem = ProblemKind::backward;
    }
    const ProblemKind problem = input.origin.spec.problem;
    const auto of_problem = std::ranges::find(subjects_, problem, target_.problem);
    if (of_problem == subjects_.end()) {  // of another subject of the target, or of none
      if (std::ranges::find(all, problem, target_.problem) != all.end()) continue;
      throw UsageError(quote(file) + ": " + quote(line) + " is another problem");
    }
    input.kernel = static_cast<std::uint8_t>(of_problem - subjects_.begin());
    case_of(problem, input);
    const auto bytes = encode_input(input);
    if (!bytes)
      throw UsageError(quote(file) + ": " + quote(line) + " has a value without a byte (fuzz/input/codec.cc)");
    write_input(folder, *bytes);
    for (std::size_t law = 0; written < kLinesWithLaws && law < 256 - kNoLaw; ++law) {
      input.law = law_byte(law);
      write_input(folder, *encode_input(input));
    }
    ++written;
  }
  if (written == 0) throw UsageError(quote(file) + ": no case lines of this subject");
  std::printf("%zu cases\n", written);
}

}  // namespace flashproof
