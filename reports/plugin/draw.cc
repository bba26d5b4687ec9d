#include "reports/plugin/draw.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "properties/generators/shapes/feature_tiles.h"
#include "properties/shrink/brief.h"
#include "reference/error/semantics/declared_terms.h"
#include "reference/oracle/threads.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kTries = 12;      // per case wanted; some features a family has in every case
constexpr std::uint64_t kMoreTries = 24;  // of each family for a capability
constexpr std::size_t kAtOnce = 2;        // cases per thread: the largest take much memory

CaseSpec spec_of(const Kernel& kernel, std::string_view family, std::uint64_t seed, const Keys& keys = {}) {
  CaseSpec spec{kernel.problem, std::string(family), seed, {{"format", std::string(info(kernel.formats[0]).name)}}};
  spec.keys.insert(keys.begin(), keys.end());
  return spec;
}

/// As the kernel's semantics have it. Nothing where the family has no such case.
std::optional<Problem> problem_of(const Kernel& kernel, const CaseSpec& spec) {
  try {
    return as_declared(make_case(spec).problem, kernel.contract.semantics);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

bool takes(const Described& described, std::string_view name) {
  return std::ranges::find(described.declared, name, &Capability::name) != described.declared.end();
}

/// What keeps a family from what the description leaves out; of one that takes pages sequences that can share them.
Keys features_taken(const Described& described) {
  const auto takes = [&](std::string_view name) { return flashproof::takes(described, name); };
  Keys keys = storage_taken(described);
  if (forward_kind(described.problem) != ProblemKind::attention) return keys;
  if (!takes("causal")) keys["causal"] = "0";
  if (!takes("gqa")) keys["hq"] = keys["hk"] = "2";
  if (!takes("d != dv")) keys["d"] = keys["dv"] = "32";
  if (takes("shared pages")) keys["b"] = "3";
  return keys;
}

Keys sizes_taken(const Described& described) {
  Keys keys = features_taken(described);
  for (const auto& [key, size] : sizes(described.limits)) keys[key] = std::to_string(size);
  return keys;
}

void add_taken(KernelRun& run, PluginTask& task, const CaseSpec& spec, const Problem& problem) {
  if (!run.asks(spec.family)) {  // what it has are cases that the description does not take
    task.cases.clear();
    run.ask(spec.family);
  }
  task.cases.push_back(spec);
  run.draw(spec, problem);
}

void draw_with(KernelRun& run, const Keys& keys, std::uint64_t seed, std::span<PluginTask> tasks) {
  for (std::uint64_t i = 0; i < kMoreTries; ++i) {
    for (PluginTask& task : tasks) {
      if (!run.wants_more()) return;
      const CaseSpec spec = spec_of(run.kernel(), task.cases.front().family, seed + i, keys);
      if (std::ranges::find(task.cases, spec.seed, &CaseSpec::seed) != task.cases.end()) continue;
      const std::optional<Problem> problem = problem_of(run.kernel(), spec);
      if (!problem || !run.wants(*problem)) continue;
      if (const std::string why = run.kernel().unsupported(*problem); !why.empty()) {
        run.miss(*problem, why);
        continue;
      }
      add_taken(run, task, spec, *problem);
    }
  }
}

/// The features that the description takes, as bits of the key `features`.
std::uint32_t features_bits(const Described& described) {
  constexpr std::string_view kNames[] = {"causal", "gqa",     "key_length", "window", "alibi",
                                         "bias",   "softcap", "sink",       "packed", "paged"};
  static_assert(std::size(kNames) == family::kParts);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (takes(described, kNames[i])) bits |= std::uint32_t{1} << i;
  }
  return bits;
}

/// A row of several features holds to those that the description takes; false where it takes none of them.
bool hold_features(const Described& described, CaseSpec& spec) {
  if (spec.family != "feature_pairs" || !is_costly(spec)) return true;
  const std::uint32_t row = family::feature_tiles(spec.problem)[spec.seed - kCostlySeeds].features;
  const std::uint32_t taken = features_bits(described);
  if ((row & ~taken) != 0) spec.keys["features"] = std::to_string(taken);
  return (row & taken) != 0;
}

/// The problem of the spec, if the description takes it; else of the same seed, and the spec with it, held by keys to what it takes: a
/// row of a covering array to its storage, since the sizes and features of that row are in no other; then the sizes to its limits.
std::optional<Problem> taken_problem(const Kernel& kernel, const Described& described, bool covering, CaseSpec& spec) {
  const auto takes = [&](const std::optional<Problem>& problem) {
    return problem && kernel.unsupported(*problem).empty();
  };
  std::optional<Problem> problem = problem_of(kernel, spec);
  if (takes(problem)) return problem;
  const Sizes sizes = problem ? fitted(described.limits, *problem, is_costly(spec)) : Sizes{};
  if (!covering && sizes.empty()) return std::nullopt;
  for (const auto& [key, word] : storage_taken(described)) spec.keys[key] = word;
  if (covering && forward_kind(described.problem) == ProblemKind::attention && !flashproof::takes(described, "bias")) {
    spec.keys["bias"] = "none";
  }
  problem = problem_of(kernel, spec);
  if (takes(problem) || sizes.empty()) return takes(problem) ? problem : std::nullopt;
  for (const auto& [key, size] : sizes) spec.keys[key] = std::to_string(size);
  problem = problem_of(kernel, spec);
  return takes(problem) ? problem : std::nullopt;
}

/// taken_problem() of each, after hold_features().
std::vector<std::optional<Problem>> taken_problems(const Kernel& kernel, const Described& described, bool covering,
                                                   std::span<CaseSpec> specs, int jobs) {
  std::vector<std::optional<Problem>> problems(specs.size());
  Threads(jobs).for_each(static_cast<std::int64_t>(specs.size()), [&](std::int64_t i) {
    CaseSpec& spec = specs[static_cast<std::size_t>(i)];
    if (!hold_features(described, spec)) return;
    problems[static_cast<std::size_t>(i)] = taken_problem(kernel, described, covering || is_costly(spec), spec);
  });
  return problems;
}

}  // namespace

Keys storage_taken(const Described& described) {
  Keys keys;
  if (!takes(described, "strides: any")) keys["layout"] = takes(described, "strides: rows") ? "padded" : "dense";
  if (described.problem != ProblemKind::merge) return keys;
  if (!takes(described, "order")) keys["order"] = "forward";
  if (!takes(described, "concat")) keys["form"] = "sum";
  return keys;
}

CoveringCases covering_cases(const Family& family, ProblemKind problem, std::uint64_t cases) {
  const std::uint64_t stands_for = family.cases(problem, cases);
  const std::uint64_t costly = family.costly != nullptr && cases >= kDefaultCases ? family.costly(problem) : 0;
  if (family.round == nullptr) return {stands_for, 0, costly};
  return {std::max(family.whole(problem, cases), stands_for), family.round(problem), costly};
}

Turn turn_of(const Kernel& kernel, std::span<const Kernel* const> checked) {
  Turn turn{0, 0};
  for (const Kernel* other : checked) {
    if (other->id != kernel.id) continue;
    if (other == &kernel) turn.format = turn.formats;
    ++turn.formats;
  }
  return turn;
}

std::vector<CaseSpec> draw_cases(KernelRun& run, const Family& family, std::uint64_t seed, std::uint64_t cases,
                                 Turn turn, const Described& described, int jobs) {
  const Kernel& kernel = run.kernel();
  const auto [wanted, round, costly] = covering_cases(family, kernel.problem, cases);
  // Each row of a covering array once: further rounds have the same pairs of levels.
  const std::uint64_t tries = round == 0 ? kTries * wanted : std::max(wanted, std::min(round, kTries * wanted));
  std::vector<CaseSpec> taken, first;
  std::set<std::string> held;  // rows that hold to fewer features become alike
  const auto take = [&](std::span<CaseSpec> specs, std::uint64_t most) {
    const std::vector<std::optional<Problem>> problems = taken_problems(kernel, described, round != 0, specs, jobs);
    for (std::size_t i = 0; i < specs.size() && taken.size() < most; ++i) {
      if (!problems[i] || (specs[i].keys.contains("features") && !held.insert(brief(*problems[i])).second)) continue;
      taken.push_back(specs[i]);
      run.draw(specs[i], *problems[i]);
    }
  };
  const std::size_t at_once = jobs > 1 ? kAtOnce * static_cast<std::size_t>(jobs) : 1;
  std::vector<CaseSpec> next;
  for (std::uint64_t i = 0; i < tries && taken.size() < wanted; ++i) {
    if (round == 0 || family.draws(i, cases, turn.format, turn.formats)) {
      next.push_back(spec_of(kernel, family.name, seed + i));
      if (i < wanted) first.push_back(next.back());
    }
    if (next.size() < at_once && i + 1 < tries) continue;
    take(next, wanted);
    next.clear();
  }
  // Whatever the seed of the run is.
  for (std::uint64_t i = 0; i < costly; i += at_once) {
    next.clear();
    for (std::uint64_t n = i; n < std::min<std::uint64_t>(i + at_once, costly); ++n) {
      next.push_back(spec_of(kernel, family.name, kCostlySeeds + n));
    }
    take(next, std::numeric_limits<std::uint64_t>::max());
  }
  // A format whose turns are all rows that the description does not take has the others'.
  if (taken.empty() && round != 0 && turn.formats > 1) return draw_cases(run, family, seed, cases, {}, described, jobs);
  run.offer(family.name, !taken.empty());
  return taken.empty() ? first : taken;
}

std::vector<PluginTask> draw_tasks(KernelRun& run, const Described& described, std::span<const Family* const> families,
                                   const PluginCheck& options, Turn turn) {
  std::vector<PluginTask> tasks;
  for (const Family* family : families) {
    if (!family->serves(run.kernel().problem)) continue;
    tasks.push_back(
        {&run.kernel(), draw_cases(run, *family, options.seed, options.cases, turn, described, options.jobs)});
  }
  draw_declared(run, described, options.seed, tasks);
  return tasks;
}

void draw_declared(KernelRun& run, const Described& described, std::uint64_t seed, std::span<PluginTask> tasks) {
  for (const Keys& keys : {Keys{}, features_taken(described), sizes_taken(described)}) {
    draw_with(run, keys, seed, tasks);
  }
}

}  // namespace flashproof
