#include "properties/driver/property_run.h"

#include <algorithm>
#include <array>
#include <limits>

#include "properties/driver/check_declarations.h"
#include "properties/driver/draws.h"
#include "properties/driver/kernel_laws.h"
#include "properties/driver/property_files.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {

std::uint64_t PropertyResult::executed() const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    if (static_cast<VerdictKind>(kind) != VerdictKind::unsupported) sum += counts[kind];
  }
  return sum;
}

std::uint64_t PropertyResult::decided() const {
  return counts[static_cast<std::size_t>(VerdictKind::pass)] + counts[static_cast<std::size_t>(VerdictKind::fail)];
}

std::string call_fault_name(const Verdict& verdict) {
  const std::string& text = verdict.detail;
  std::size_t end = text.find(':');
  if (verdict.failure != Failure::error || end == std::string::npos || end > text.find(' ')) return {};
  if (text.starts_with("raised:") || text.starts_with("gpu_error:")) end = text.find(':', end + 1);
  return text.substr(0, end);
}

namespace {

Case replayed(const std::string& text) {
  if (text.ends_with(".safetensors")) return read_witness(text).content;
  return make_case(parse_case_spec(text));
}

template <class T>
std::vector<const T*> select(std::span<const T> all, std::string_view T::* name, std::span<const std::string> globs,
                             std::string_view what) {
  std::vector<std::string_view> names;
  for (const T& one : all) names.push_back(one.*name);
  std::vector<const T*> chosen;
  for (const std::size_t i : select_names(globs, names, what)) chosen.push_back(&all[i]);
  return chosen;
}

/// What is asked of the kernels of a problem, and with what. No question: nothing, whatever the judging laws would say.
struct Plan {
  std::vector<Question> questions;
  std::vector<const Family*> families;

  Plan(ProblemKind problem, std::span<const Law* const> asked, std::span<const Family* const> chosen,
       const PropertyOptions& options) {
    if (std::ranges::none_of(asked, [&](const Law* law) { return law->is_of(problem); })) return;
    questions = flashproof::questions(problem, asked);
    if (options.judged_elsewhere) std::erase_if(questions, [](const Question& one) { return !one.asked; });
    for (const Family* family : chosen) {
      if (options.replay.empty() && family->serves(problem)) families.push_back(family);
    }
  }
};

/// Of one kernel; none where it had no case.
std::vector<PropertyResult> run_kernel(const KernelDeclaration& declaration, Turn turn, const Plan& plan,
                                       std::span<const Case> replay, const PropertyOptions& options,
                                       const std::function<void()>& family_ends) {
  std::vector<PropertyResult> its;
  for (const Question& one : plan.questions) {
    its.push_back({.kernel = declaration.id, .law = one.law->name});
    if (one.asked && replay.empty() && !options.out.empty()) remove_earlier(witness_path(options, its.back()), "");
  }
  const Kernel kernel = options.kernel_of != nullptr ? options.kernel_of(declaration) : Kernel{declaration};
  KernelLaws run(kernel, turn, plan.questions, options, its);
  if (!replay.empty()) run.replay(replay);
  // Of a kernel that may be slow all families have their first case before any has its second, as in measure().
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  const std::vector<Draws> all = draws_of(kernel, plan.families, options);
  for (const std::uint64_t most : {std::uint64_t{1}, kAll}) {
    if (most != kAll && !kernel.foreign) continue;
    for (std::size_t family = 0; family < all.size(); ++family) {
      if (!replay.empty() || run.stopped()) continue;
      run.draw(all[family], family, most);
      if (most == kAll) family_ends();
    }
  }
  if (run.cases() == 0 && !run.stopped()) return {};
  if (replay.empty()) run.conclude();  // of a run that was stopped, too: what it had not decided is no pass
  if (run.stopped()) run.mark_unasked(plan.families.size());
  std::vector<PropertyResult> results;
  for (std::size_t i = 0; i < its.size(); ++i) {
    if (plan.questions[i].asked) results.push_back(std::move(its[i]));
  }
  return results;
}

}  // namespace

std::vector<PropertyResult> run_properties(std::span<const KernelDeclaration> kernels, const PropertyOptions& options) {
  check_declarations(kernels);
  const auto tested = select(kernels, &KernelDeclaration::id, options.kernels, "kernel");
  const auto asked = select_laws(options.laws);
  const auto chosen = select(families(), &Family::name, options.families, "family");
  std::vector<Case> replay;
  replay.reserve(options.replay.size());
  for (const std::string& text : options.replay) replay.push_back(replayed(text));
  std::vector<Plan> plans;
  for (const ProblemKind problem : kProblemKinds) plans.emplace_back(problem, asked, chosen, options);
  const auto plan_of = [&](const KernelDeclaration& kernel) -> const Plan& {
    return plans[static_cast<std::size_t>(kernel.problem)];
  };
  std::uint64_t total = 0, done = 0;
  for (const KernelDeclaration* kernel : tested) {
    const Plan& plan = plan_of(*kernel);
    if (!plan.questions.empty()) total += draws_of(Kernel{*kernel}, plan.families, options).size();
  }
  const auto family_ends = [&] {
    if (options.progress) options.progress(++done, total);
  };
  std::vector<PropertyResult> results;
  bool law = false, family = false;
  std::array<std::size_t, std::size(kProblemKinds)> seen{};
  for (const KernelDeclaration* kernel : tested) {
    if (options.stop && options.stop()) return results;
    const auto of_problem =
        std::ranges::count(tested, kernel->problem, [](const KernelDeclaration* k) { return k->problem; });
    const Turn turn{seen[static_cast<std::size_t>(kernel->problem)]++,
                    std::min<std::size_t>(options.turns, static_cast<std::size_t>(of_problem))};
    const Plan& plan = plan_of(*kernel);
    law = law || !plan.questions.empty();
    if (plan.questions.empty() || (replay.empty() && plan.families.empty())) continue;
    family = true;
    for (PropertyResult& result : run_kernel(*kernel, turn, plan, replay, options, family_ends)) {
      results.push_back(std::move(result));
    }
  }
  const bool stopped = options.stop && options.stop();
  if (!results.empty() || !law || stopped) return results;
  if (family && replay.empty()) throw UsageError("no chosen family has a case with a gradient");
  throw UsageError("no chosen kernel is of the problem that was asked for");
}

}  // namespace flashproof
