#include "reports/diagnose/cause/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "reference/system/error.h"
#include "reports/diagnose/cause/call_causes.h"
#include "reports/diagnose/cause/constant_causes.h"
#include "reports/diagnose/cause/law_causes.h"
#include "reports/diagnose/cause/overflow_causes.h"
#include "reports/diagnose/cause/symptom_causes.h"
#include "reports/diagnose/choose.h"
#include "reports/diagnose/finite_copy.h"
#include "reports/diagnose/hypotheses/hypothesis_causes.h"
#include "reports/diagnose/looked.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// It is right with ordinary numbers where no key counts.
std::vector<Cause> by_leaks(const Kernel& kernel, const Looked& looked, std::vector<bool>& open, Executor executor) {
  static constexpr struct {
    Cleaned cleaned;
    std::string_view id, what;
  } kLeaks[] = {{Cleaned::values, "leak.values", "v of a key, or o of a state, that does not count"},
                {Cleaned::keys, "leak.keys", "k of a key that does not count"},
                {Cleaned::both, "leak.both", "k and v of keys that do not count"}};
  std::vector<Cause> causes;
  if (kernel.own_forward) return causes;  // a copy of a gradient's problem is one that takes o and lse
  RunOptions options;
  options.executor = executor;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Observation& seen = looked.failing[i];
    if (!open[i] || !shows(seen, Symptom::nan)) continue;
    for (const auto& leak : kLeaks) {
      auto copy = finite_copy(seen.subject(), leak.cleaned);
      if (!copy || Observation(kernel, std::move(*copy), options).failed()) continue;
      auto cause = std::ranges::find(causes, leak.id, &Cause::id);
      if (cause == causes.end()) {
        causes.push_back(
            {.id = std::string(leak.id),
             .sentence = fmt::format(
                 "NaN or infinity in {} reaches the output: with ordinary numbers there it is right", leak.what),
             .witness = to_string(seen.subject().spec),
             .confident = true});
        cause = causes.end() - 1;
      }
      ++cause->cases;
      cause->elements += seen.failing();
      open[i] = false;
      break;
    }
  }
  return causes;
}

/// NaN and infinities in the inputs hide what a kernel does: with ordinary numbers in place of all of them it is right, or wrong by
/// numbers that a hypothesis explains. That it is right says where NaN comes from, not what is wrong: that takes a condition.
std::vector<Cause> by_cleaning(const Kernel& kernel, const Looked& looked, std::vector<bool>& open, Executor executor) {
  std::vector<Cause> causes;
  if (kernel.own_forward) return causes;  // as above
  Looked again;
  std::vector<std::size_t> of;
  std::vector<bool> right(open.size());
  RunOptions options;
  options.executor = executor;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!open[i] || !shows(looked.failing[i], Symptom::nan)) continue;
    auto copy = finite_copy(looked.failing[i].subject(), Cleaned::everything);
    if (!copy) continue;
    if (again.failing.emplace_back(kernel, std::move(*copy), options).failed()) {
      of.push_back(i);
      continue;
    }
    again.failing.pop_back();
    right[i] = true;
    open[i] = false;
  }
  for (Cause& cause : by_symptoms(kernel, looked, right)) {
    if (!cause.id.starts_with(name(Symptom::nan))) continue;
    cause.sentence += ": NaN or infinity among the inputs does it, with ordinary numbers it is right";
    causes.push_back(std::move(cause));
  }
  call_again(again);
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

/// Where nothing but a condition may say what is wrong, twice as many failing cases: two predicates of shape that separate the rows of a
/// dozen cases are often refuted by the next.
void look_at_more(const Kernel& kernel, std::span<const CaseSpec> given, Executor executor, Looked& looked,
                  std::vector<bool>& open) {
  std::deque<Case> cases = choose_cases(kernel, given, 2 * kMostFailing);
  std::erase_if(cases, [&](const Case& c) {
    const auto is_it = [&](const Observation& seen) { return seen.subject().spec == c.spec; };
    return std::ranges::any_of(looked.failing, is_it) || std::ranges::any_of(looked.passing, is_it);
  });
  look(kernel, std::move(cases), executor, looked.failing, &looked.passing);
  while (open.size() < looked.failing.size()) {
    open.push_back(looked.failing[open.size()].error().empty());
    if (!looked.again.empty()) looked.again.push_back(Again::same);  // not asked
  }
}

/// Laws, on the cases that were given as failing. Where no number fails, larger ones say more of batches and offsets than the
/// smallest.
std::vector<Cause> by_laws_of(const Kernel& kernel, std::span<const CaseSpec> given, const Looked& looked,
                              Executor executor) {
  std::vector<const Observation*> failing, unshown;
  for (const Observation& seen : looked.failing) failing.push_back(&seen);
  for (std::size_t i = 0; i < looked.unshown; ++i) unshown.push_back(&looked.passing[i]);
  std::deque<Observation> larger;
  if (failing.empty()) {
    std::deque<Case> cases = choose_cases(kernel, given, kMostFailing, true);
    std::erase_if(cases, [&](const Case& c) {
      return std::ranges::any_of(unshown, [&](const Observation* seen) { return seen->subject().spec == c.spec; });
    });
    look(kernel, std::move(cases), executor, larger);
    for (const Observation& seen : larger) (seen.failed() ? failing : unshown).push_back(&seen);
  }
  return by_laws(kernel, failing, unshown, executor);
}

}  // namespace

std::vector<Cause> diagnose(const Kernel& kernel, std::span<const CaseSpec> failing, std::span<const CaseSpec> passing,
                            Executor executor) {
  Looked looked;
  look(kernel, choose_cases(kernel, failing, kMostFailing), executor, looked.failing, &looked.passing);
  looked.unshown = looked.passing.size();
  look(kernel, choose_cases(kernel, passing, kMostPassing), executor, looked.passing);
  look_at_neighbours(kernel, executor, looked);
  std::vector<bool> open;
  open.reserve(looked.failing.size());
  for (const Observation& seen : looked.failing) open.push_back(seen.failed());

  call_again(looked);
  std::vector<Cause> causes = by_errors(looked, open);
  const auto add = [&](std::vector<Cause> more) { std::ranges::move(more, std::back_inserter(causes)); };
  for (const Again how : {Again::right, Again::right_alone}) add(by_calls(looked, how, open));
  add(by_constants(looked, open));
  add(by_overflow(kernel, looked, open));
  add(by_hypotheses(kernel, looked, open));
  add(by_calls(looked, Again::numbers, open));
  add(by_leaks(kernel, looked, open, executor));
  add(by_cleaning(kernel, looked, open, executor));
  const auto explained = static_cast<std::size_t>(std::ranges::count(open, false));
  if (explained == 0) look_at_more(kernel, failing, executor, looked, open);
  for (Cause& cause : by_symptoms(kernel, looked, open)) {
    // What is left beside causes that explain most may be the same mistakes, seen through an overflow.
    if (2 * explained >= open.size() && explained > 0 && cause.id.find("unwritten") != 0) cause.confident = false;
    causes.push_back(std::move(cause));
  }
  for (Cause& cause : causes) {
    cause.failing_cases = looked.failing.size() + looked.unshown_fail.size();
    cause.confident = cause.confident &&
                      static_cast<double>(cause.cases) >= kConfidentShare * static_cast<double>(cause.failing_cases);
  }
  if (!std::ranges::any_of(causes, &Cause::confident)) {
    add(by_laws_of(kernel, failing, looked, executor));
  }
  std::ranges::stable_sort(causes, [](const Cause& a, const Cause& b) {
    return a.confident != b.confident ? a.confident : a.cases > b.cases;
  });
  return causes;
}

}  // namespace flashproof
