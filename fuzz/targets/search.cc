// The searches of a session that need no engine: local search around the elites, one case after the other or in batches.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "fuzz/search/starts.h"
#include "fuzz/targets/session.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSiblings = 16;
constexpr int kLawsPerBatch = 4;  // each costs several launches

Random fresh_random() {
  const auto ticks = std::chrono::system_clock::now().time_since_epoch().count();
  return {static_cast<std::uint64_t>(ticks), static_cast<std::uint64_t>(::getpid())};
}

/// Nothing where another worker has taken the file away meanwhile.
std::optional<std::vector<std::uint8_t>> bytes_of_file(const fs::path& file) {
  try {
    const std::string text = read_file(file, kMostFile);
    return std::vector<std::uint8_t>(text.begin(), text.end());
  } catch (const UsageError&) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(file, error))) throw;
    return std::nullopt;
  }
}

/// The regular files of a folder, in the order of their names; none where there is no folder.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    if (i->is_regular_file(error)) files.push_back(i->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::optional<Session::Found> Session::climbing(const FuzzInput& input, std::span<const std::uint8_t> bytes) {
  if (options_.climbing.empty()) return evaluate(input);
  std::ofstream(options_.climbing, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return evaluate(input);
}

Climb Session::from_elites(Random& random) {
  const ProblemKind problem = target_.problem(subjects_.front());
  std::map<std::string, Elite> worst;  // by term: one run each, whatever the number of shape classes
  for (Elite& elite : archive_->elites()) {
    if (elite.subject != key_of(subjects_.front())) continue;
    const auto [at, fresh] = worst.try_emplace(elite.term, elite);
    if (!fresh && elite.ratio > at->second.ratio) at->second = std::move(elite);
  }
  Climb best(problem, random.next_u32());
  for (const auto& [term, elite] : worst) {
    const FuzzInput input = decode_input(problem, elite.input);
    if (const auto found = evaluate(input)) best.offer({input}, found->scored.score.terms);
  }
  return best;
}

void Session::learn(const FuzzInput& input, const Found& found, Climb& best, const std::string& folder) {
  const auto bytes = encode_input(input);
  keep(found, input, *bytes);
  if (best.offer({input}, found.scored.score.terms)) write_input(folder, *bytes);
}

void Session::climb(double seconds, const std::string& folder) {
  Random random = fresh_random();
  Climb best = from_elites(random);
  for (const double end = steady_seconds() + seconds; steady_seconds() < end; tick()) {
    const auto child = best.child(random);
    if (!child) break;
    const FuzzInput& input = child->input;
    if (const auto found = climbing(input, *encode_input(input))) learn(input, *found, best, folder);
  }
  if (!options_.climbing.empty()) fs::remove(options_.climbing);
  flush();
}

void Session::hunt_batch(const std::vector<FuzzInput>& inputs, Team& team, Climb& best, const std::string& folder) {
  const TargetSubject& subject = subjects_.front();
  if (target_.run_batch == nullptr) {
    for (const FuzzInput& input : inputs) {
      if (const auto found = evaluate(input)) learn(input, *found, best, folder);
      tick();
    }
    return;
  }
  run_.executions += inputs.size();
  std::vector<FuzzInput> formatted;
  formatted.reserve(inputs.size());
  for (const FuzzInput& input : inputs) formatted.push_back(in_format(subject, input));
  ScoredBatch batch = target_.run_batch(subject, formatted, {options_.executor, &team});
  std::optional<std::size_t> fatal;  // its finding ends this process: what the others showed is kept before
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!batch.results[i] || !batch.results[i]->score.ran) continue;
    ++run_.judged;
    run_.escalated += batch.results[i]->score.climbed;
    if (batch.lost && batch.results[i]->score.what == "error") {
      fatal = i;
    } else {
      keep_launch(inputs, batch, i, batch.results[i]->score.what);
      learn(inputs[i], {&subject, std::move(*batch.results[i])}, best, folder);
    }
  }
  if (fatal) keep({&subject, std::move(*batch.results[*fatal])}, inputs[*fatal], *encode_input(inputs[*fatal]));
  if (!batch.lost) return;
  report_launch(inputs, batch);
  leave_lost();
}

/// A finding keeps one input, but what fails as a launch only needs all of them: the first of each kind of failure leaves
/// them in SUSPECTS.launch/, in a folder named as its input is. Run again: --hunt with that folder and a --batch of as many.
void Session::keep_launch(const std::vector<FuzzInput>& inputs, const ScoredBatch& batch, std::size_t of,
                          const std::string& what) {
  if (!what.starts_with("batch:") || options_.suspects.empty()) return;
  for (const std::vector<std::size_t>& launch : batch.failed_launches) {
    if (std::ranges::find(launch, of) == launch.end() || !kept_launches_.insert(what).second) continue;
    const fs::path folder =
        fs::path(options_.suspects + ".launch") / fmt::format("{:016x}", hash_of(*encode_input(inputs[of])));
    fs::create_directories(folder);
    for (const std::size_t i : launch) write_input(folder, *encode_input(inputs[i]));
  }
}

/// One finding for the launch, and its inputs as suspects: who did it alone gets a finding of its own when it has run again.
void Session::report_launch(const std::vector<FuzzInput>& inputs, const ScoredBatch& batch) {
  if (batch.together.empty()) return;
  const FuzzInput& first = inputs[batch.together.front()];
  for (const std::size_t i : batch.together) write_input(options_.suspects, *encode_input(inputs[i]));
  keep_launch(inputs, batch, batch.together.front(), "batch:error");
  Found together{&subjects_.front(), {}};
  together.scored.score.ran = true;
  together.scored.score.what = "batch:error";
  together.scored.score.verdict = {VerdictKind::fail, Failure::error,
                                   fmt::format("a launch of {} cases lost the GPU's context ({}); each runs alone "
                                               "next, and who loses it again has a finding "
                                               "\"error\"; this is one of them",
                                               batch.together.size(), batch.why)};
  together.scored.case_line = describe(in_format(subjects_.front(), first));
  together.scored.finding_class = "any";
  keep(together, first, *encode_input(first));
}

void Session::try_suspects(const std::string& folder) {
  for (const fs::path& file : files_of(folder)) {
    const auto bytes = bytes_of_file(file);
    std::error_code error;
    if (!bytes || !fs::remove(file, error)) continue;  // before it runs, which may end this process; another has it
    const FuzzInput input = decode_input(target_.problem(subjects_.front()), *bytes);
    if (const auto found = evaluate(input)) keep(*found, input, *bytes);
    tick();
  }
}

void Session::ask_laws(Random& random) {
  const ProblemKind problem = target_.problem(subjects_.front());
  for (int i = 0; i < kLawsPerBatch; ++i) {
    FuzzInput input = random_inputs(problem, random, 1).front();
    input.law = law_byte(static_cast<std::size_t>(random.integer(0, 255 - kNoLaw)));
    if (const auto found = evaluate(input)) keep(*found, input, *encode_input(input));
  }
}

void Session::hunt(double seconds, const std::string& folder) {
  if (!options_.suspects.empty()) {
    fs::create_directories(options_.suspects);
    try_suspects(options_.suspects);
  }
  const ProblemKind problem = target_.problem(subjects_.front());
  Random random = options_.seed ? Random(*options_.seed, 0) : fresh_random();
  Climb best = from_elites(random);
  const auto batch = static_cast<std::size_t>(options_.batch);
  Team team(options_.threads);
  std::vector<fs::path> corpus = files_of(folder);
  for (const double end = steady_seconds() + seconds; steady_seconds() < end;) {
    std::vector<FuzzInput> inputs;
    for (; inputs.size() < batch && !corpus.empty(); corpus.pop_back()) {
      const auto bytes = bytes_of_file(corpus.back());
      if (!bytes) continue;
      inputs.push_back(decode_input(problem, *bytes));
      inputs.back().law = 0;  // a batch asks no law
    }
    while (inputs.size() < batch) {  // half changed elites, half random recipes
      for (FuzzInput& input : random_inputs(problem, random, kSiblings)) inputs.push_back(std::move(input));
      for (std::size_t i = 0; i < kSiblings; ++i) {
        if (auto child = best.child(random)) inputs.push_back(std::move(child->input));
      }
    }
    hunt_batch(inputs, team, best, folder);
    ask_laws(random);
    tick();
  }
  flush();
}

}  // namespace flashproof
