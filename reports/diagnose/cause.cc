#include "reports/diagnose/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "reference/problem/error.h"
#include "reports/diagnose/choose.h"
#include "reports/diagnose/finite_copy.h"
#include "reports/diagnose/hypothesis_causes.h"
#include "reports/diagnose/law_causes.h"
#include "reports/diagnose/looked.h"
#include "reports/diagnose/symptom_causes.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// NaN and infinities in the inputs hide what a kernel does: with ordinary numbers in their place it is right, or wrong by numbers
/// that a hypothesis explains.
std::vector<Cause> by_cleaning(const Kernel& kernel, const Looked& looked, std::vector<bool>& open, Executor executor) {
  static constexpr struct {
    Cleaned cleaned;
    std::string_view id, what;
  } kLeaks[] = {{Cleaned::values, "leak.values", "v of a key, or o of a state, that does not count"},
                {Cleaned::keys, "leak.keys", "k of a key that does not count"},
                {Cleaned::both, "leak.both", "k and v of keys that do not count"}};
  std::vector<Cause> causes;
  Looked again;
  std::vector<std::size_t> of;
  RunOptions options;
  options.executor = executor;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!open[i] || !shows(looked.failing[i], Symptom::nan)) continue;
    for (const auto& leak : kLeaks) {
      auto copy = finite_copy(looked.failing[i].subject(), leak.cleaned);
      if (!copy) continue;
      again.failing.emplace_back(kernel, std::move(*copy), options);
      if (again.failing.back().failed()) {
        if (leak.cleaned == Cleaned::both)
          of.push_back(i);
        else
          again.failing.pop_back();
        continue;
      }
      again.failing.pop_back();
      auto cause = std::ranges::find(causes, leak.id, &Cause::id);
      if (cause == causes.end()) {
        causes.push_back(
            {.id = std::string(leak.id),
             .sentence = fmt::format(
                 "NaN or infinity in {} reaches the output: with ordinary numbers there it is right", leak.what),
             .witness = to_string(looked.failing[i].subject().spec),
             .confident = true});
        cause = causes.end() - 1;
      }
      ++cause->cases;
      cause->elements += looked.failing[i].failing();
      open[i] = false;
      break;
    }
  }
  if (again.failing.empty()) return causes;
  std::vector<bool> wrong(again.failing.size(), true);
  for (Cause& cause : by_hypotheses(kernel, again, wrong)) {
    cause.condition = "shown with ordinary numbers in place of NaN and infinity" +
                      (cause.condition.empty() ? "" : "; " + cause.condition);
    causes.push_back(std::move(cause));
  }
  for (std::size_t n = 0; n < of.size(); ++n) open[of[n]] = open[of[n]] && wrong[n];
  return causes;
}

/// What the executor stopped the kernel for.
std::vector<Cause> by_errors(const Looked& looked, std::vector<bool>& open) {
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < looked.failing.size(); ++i) {
    const Observation& seen = looked.failing[i];
    if (seen.error().empty()) continue;
    open[i] = false;
    if (causes.empty()) {
      causes.push_back({.id = "error",
                        .sentence = "the kernel is stopped: " + one_line(seen.error()),
                        .witness = to_string(seen.subject().spec),
                        .confident = true});
    }
    ++causes[0].cases;
  }
  return causes;
}

/// `passing`: where those go that do not fail when they are run again; null: they stay.
void look(const Kernel& kernel, std::deque<Case> cases, Executor executor, std::deque<Observation>& to,
          std::deque<Observation>* passing = nullptr) {
  RunOptions options;
  options.executor = executor;
  for (Case& c : cases) {
    try {
      const Observation& seen = to.emplace_back(kernel, std::move(c), options);
      if (passing == nullptr || seen.failed()) continue;
      passing->emplace_back(kernel, seen.subject(), seen.output());
      to.pop_back();
    } catch (const UsageError&) {  // refused when it was called
    }
  }
}

/// Few failing cases tell little: the next seeds of the same recipes, for as long as there are too few that fail.
void look_at_neighbours(const Kernel& kernel, Executor executor, Looked& looked) {
  constexpr std::uint64_t kSeeds = 48;
  constexpr std::size_t kFew = 4;
  const std::size_t given = looked.failing.size();
  if (given == 0 || given >= kFew) return;
  for (std::uint64_t step = 1; step <= kSeeds / given && looked.failing.size() < kMostFailing; ++step) {
    for (std::size_t i = 0; i < given; ++i) {
      CaseSpec spec = looked.failing[i].subject().spec;
      spec.seed += step;
      look(kernel, choose_cases(kernel, std::span(&spec, 1), 1), executor, looked.failing, &looked.passing);
    }
  }
}

}  // namespace

std::vector<Cause> diagnose(const Kernel& kernel, std::span<const CaseSpec> failing, std::span<const CaseSpec> passing,
                            Executor executor) {
  Looked looked;
  look(kernel, choose_cases(kernel, failing, kMostFailing), executor, looked.failing, &looked.passing);
  look(kernel, choose_cases(kernel, passing, kMostPassing), executor, looked.passing);
  look_at_neighbours(kernel, executor, looked);
  std::vector<bool> open;
  open.reserve(looked.failing.size());
  for (const Observation& seen : looked.failing) open.push_back(seen.failed());

  std::vector<Cause> causes = by_errors(looked, open);
  for (Cause& cause : by_hypotheses(kernel, looked, open)) causes.push_back(std::move(cause));
  for (Cause& cause : by_cleaning(kernel, looked, open, executor)) causes.push_back(std::move(cause));
  std::uint64_t explained = 0;
  for (const Cause& cause : causes) explained += cause.cases;
  for (Cause& cause : by_symptoms(kernel, looked, open)) {
    // What is left beside causes that explain most may be the same mistakes, seen through an overflow.
    if (2 * explained >= open.size() && explained > 0 && cause.id.find("unwritten") != 0) cause.confident = false;
    causes.push_back(std::move(cause));
  }
  for (Cause& cause : causes) {
    cause.failing_cases = looked.failing.size();
    cause.confident =
        cause.confident && static_cast<double>(cause.cases) >= kConfidentShare * static_cast<double>(open.size());
  }
  const bool confident = std::ranges::any_of(causes, &Cause::confident);
  if (!confident) {
    // Where nothing fails, larger cases say more of batches and offsets than the smallest ones.
    if (looked.failing.empty())
      look(kernel, choose_cases(kernel, passing, kMostPassing, true), executor, looked.passing);
    for (Cause& cause : by_laws(kernel, looked.failing, looked.passing, executor)) {
      cause.failing_cases = looked.failing.size();
      causes.push_back(std::move(cause));
    }
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) {
    return a.confident != b.confident ? a.confident : a.cases > b.cases;
  });
  return causes;
}

}  // namespace flashproof
