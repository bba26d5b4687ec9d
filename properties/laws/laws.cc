#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"
#include "properties/laws/law.h"
#include "reference/system/error.h"

namespace flashproof {

std::span<const Law> judging_laws() {
  const auto end = std::ranges::find_if(laws(), [](const Law& law) { return law.judge == nullptr; });
  return laws().first(static_cast<std::size_t>(end - laws().begin()));
}

std::span<const Law* const> laws_of(ProblemKind problem) {
  static const auto kOfEach = [] {
    std::array<std::vector<const Law*>, std::size(kProblemKinds)> all;
    for (const ProblemKind kind : kProblemKinds) {
      for (const Law& law : laws()) {
        if (law.is_of(kind)) all[static_cast<std::size_t>(kind)].push_back(&law);
      }
    }
    return all;
  }();
  return kOfEach[static_cast<std::size_t>(problem)];
}

namespace {

/// Until the laws of gradients and those of forward problems were one list.
constexpr std::pair<std::string_view, std::string_view> kFormerNames[] = {
    {"gradient_within_bound", "within_bound"},
    {"gradient_fully_written", "outputs_fully_written"},
    {"gradient_rows_sum_to_zero", "dq_is_zero_for_equal_keys"},
    {"gradient_columns_sum_to_d_out", "dv_sums_to_d_out"},
    {"gradient_sums_are_additive", "gradients_are_additive"},
    {"gradient_power_of_two_scaling_is_bitwise", "power_of_two_scaling_is_bitwise"},
    {"gradient_mask_forms_agree", "mask_forms_agree"},
    {"gradient_unused_storage_is_isolated", "unused_storage_is_isolated"},
    {"gradient_hidden_nan_is_isolated", "hidden_nan_is_isolated"},
    {"gradient_visible_nan_is_not_laundered", "visible_nan_is_not_laundered"},
    {"gradient_red_zones_untouched", "red_zones_untouched"},
    {"gradient_layout_invariance", "layout_invariance"},
    {"gradient_batch_invariance_is_bitwise", "batch_invariance_is_bitwise"},
    {"gradient_rerun_is_bitwise", "rerun_is_bitwise"},
    {"gradient_schedule_invariance_is_bitwise", "schedule_invariance_is_bitwise"},
    {"gradient_no_race", "no_race"},
    {"gradient_permutation_within_bound", "key_permutation_within_bound"},
    {"gradient_gqa_equals_expanded", "gqa_equals_expanded"},
    {"gradient_offsets_beyond_int32", "offsets_beyond_int32"},
};

std::string_view current_name(std::string_view name) {
  for (const auto& [former, current] : kFormerNames) {
    if (name == former) return current;
  }
  return name;
}

}  // namespace

const Law* find_law(std::string_view name) {
  const auto found = std::ranges::find(laws(), current_name(name), &Law::name);
  return found == laws().end() ? nullptr : &*found;
}

std::vector<const Law*> select_laws(std::span<const std::string> globs) {
  std::vector<std::string> current;
  for (const std::string& glob : globs) current.emplace_back(current_name(glob));
  std::vector<std::string_view> names;
  for (const Law& law : laws()) names.push_back(law.name);
  std::vector<const Law*> chosen;
  for (const std::size_t i : select_names(current, names, "law")) chosen.push_back(&laws()[i]);
  return chosen;
}

namespace {

/// By every declaration that the kernel's may stand for; the best of what they say. One that fails is out for the whole run
/// (Explanation), so a pass here is one of this case alone.
Verdict ask_judging(const Law& law, Trial& trial) {
  std::optional<Verdict> best;
  for (const Trial::Judged& by : trial.judged()) {
    Verdict verdict = law.judge(
        {trial.kernel(), trial.subject(), trial.returned(), trial.truth(), by.bound, by.judgement, &by.power});
    trial.note_alternative(by.alternative, verdict.failed());
    // A fail only where all fail; of the others the one that went furthest.
    const bool better =
        !best || (best->failed() && !verdict.failed()) || (!verdict.failed() && outweighs(verdict, *best));
    if (better) best = std::move(verdict);
  }
  return *best;
}

}  // namespace

Verdict ask(const Law& law, Trial& trial, Extent extent) {
  const ProblemKind kind = kind_of(trial.problem());
  if (!law.is_of(kind)) return unsupported("no law of " + std::string(name(kind)) + " problems");
  if (std::string why = trial.refusal(trial.problem()); !why.empty()) return unsupported(std::move(why));
  const bool large = is_costly(trial.subject().spec) || output_shape(trial.problem()).rows > kMostRowsRelated;
  if (extent == Extent::usual && law.judge == nullptr && large) return unsupported(std::string(kNotRelated));
  try {
    return law.judge != nullptr ? ask_judging(law, trial) : law.relation(kind)(trial);
  } catch (const UsageError& error) {
    // A foreign kernel may say so only when it is run. One that took the case and refuses what a law makes of it leaves the law
    // without an answer: that is not the same as a law that has nothing to say.
    if (trial.kernel().foreign) {
      const bool asked = law.judge == nullptr && trial.returns();
      return {asked ? VerdictKind::vacuous : VerdictKind::unsupported, Failure::none,
              asked ? std::string(kRefusedByLaw) + error.what() : error.what()};
    }
    // The kernel takes the case, and a law asks before it runs another problem: nothing of the law would be asked here.
    throw std::logic_error(std::string(law.name) + ": " + error.what());
  } catch (const simt::Fault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  } catch (const KernelFault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  }
}

}  // namespace flashproof
