#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "kernels/simt/schedule.h"
#include "properties/laws/gradient_list.h"
#include "properties/laws/law.h"
#include "properties/laws/list.h"
#include "reference/problem/error.h"

namespace flashproof {

std::span<const Law> laws() {
  static const Law kLaws[] = {
      within_bound(),
      class_matches_semantics(),
      outputs_fully_written(),
      empty_state_is_identity(),
      merge_commutes(),
      merge_any_order_within_bound(),
      merge_any_tree_within_bound(),
      split_equals_unsplit(),
      same_kv_twice_adds_ln2(),
      shift_invariance(),
      power_of_two_scaling_is_bitwise(),
      ones_in_ones_out(),
      convex_hull(),
      mask_forms_agree(),
      unused_storage_is_isolated(),
      hidden_nan_is_isolated(),
      visible_nan_is_not_laundered(),
      red_zones_untouched(),
      layout_invariance(),
      batch_invariance_is_bitwise(),
      rerun_is_bitwise(),
      schedule_invariance_is_bitwise(),
      no_race(),
      dim_permutation_within_a_k_group_is_bitwise(),
      key_permutation_within_bound(),
      gqa_equals_expanded(),
      paged_equals_contiguous(),
      one_hot_v_returns_p(),
      signed_bias_within_limit(),
      dropped_key_is_noticed(),
      lse_consistent_with_o(),
      offsets_beyond_int32(),
  };
  return kLaws;
}

std::span<const Law> gradient_laws() {
  static const Law kLaws[] = {
      gradient_within_bound(),
      gradient_fully_written(),
      gradient_rows_sum_to_zero(),
      gradient_columns_sum_to_d_out(),
      gradient_sums_are_additive(),
      gradient_power_of_two_scaling_is_bitwise(),
      gradient_mask_forms_agree(),
      gradient_unused_storage_is_isolated(),
      gradient_hidden_nan_is_isolated(),
      gradient_visible_nan_is_not_laundered(),
      gradient_red_zones_untouched(),
      gradient_layout_invariance(),
      gradient_batch_invariance_is_bitwise(),
      gradient_rerun_is_bitwise(),
      gradient_schedule_invariance_is_bitwise(),
      gradient_no_race(),
      gradient_permutation_within_bound(),
      gradient_gqa_equals_expanded(),
      gradient_offsets_beyond_int32(),
  };
  return kLaws;
}

std::span<const Law> laws_of(ProblemKind problem) {
  return problem == ProblemKind::backward ? gradient_laws() : laws();
}

std::span<const Law> judging_laws_of(ProblemKind problem) {
  const auto all = laws_of(problem);
  const auto end = std::ranges::find_if(all, [](const Law& law) { return law.judge == nullptr; });
  return all.first(static_cast<std::size_t>(end - all.begin()));
}

std::span<const Law> judging_laws() { return judging_laws_of(ProblemKind::attention); }

const Law* find_law(std::string_view name) {
  for (const auto all : {laws(), gradient_laws()}) {
    const auto found = std::ranges::find(all, name, &Law::name);
    if (found != all.end()) return &*found;
  }
  return nullptr;
}

namespace {

/// By every declaration that the kernel's may stand for; the best of what they say. One that fails is out for the whole run
/// (Explanation), so a pass here is one of this case alone.
Verdict ask_judging(const Law& law, Trial& trial) {
  std::optional<Verdict> best;
  for (const Trial::Judged& by : trial.judged()) {
    Verdict verdict =
        law.judge({trial.kernel(), trial.subject(), trial.output(), trial.truth(), by.bound, by.judgement, &by.power});
    trial.note_alternative(by.alternative, verdict.failed());
    // A fail only where all fail; of the others the one that went furthest.
    const bool better =
        !best || (best->failed() && !verdict.failed()) || (!verdict.failed() && outweighs(verdict, *best));
    if (better) best = std::move(verdict);
  }
  return *best;
}

}  // namespace

Verdict ask(const Law& law, Trial& trial) {
  if (std::string why = trial.refusal(trial.problem()); !why.empty()) {
    return {VerdictKind::unsupported, Failure::none, std::move(why)};
  }
  try {
    if (law.relate != nullptr) return law.relate(trial);
    return ask_judging(law, trial);
  } catch (const UsageError& error) {
    // A foreign kernel may say so only when it is run. One that took the case and refuses what a law makes of it leaves the law
    // without an answer: that is not the same as a law that has nothing to say.
    if (trial.kernel().foreign) {
      const bool asked = law.relate != nullptr && trial.returns();
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
