#include <algorithm>

#include "reports/diagnose/hypotheses/hypothesis.h"

namespace flashproof {

RowWeights::RowWeights(const RowTerms& terms) : extra(terms.sink) {
  for (const Term& t : terms.terms) numerator.push_back(t.visible ? t.score : kNothing);
  denominator = numerator;
}

const std::vector<Hypothesis>& hypotheses(ProblemKind kind) {
  static const auto of = [](ProblemKind k) {
    std::vector<Hypothesis> list;
    if (k == ProblemKind::attention) {
      add_attention_hypotheses(list);
      add_mask_hypotheses(list);
    }
    if (k == ProblemKind::merge) add_merge_hypotheses(list);
    if (k == ProblemKind::softmax) add_softmax_hypotheses(list);
    if (k == ProblemKind::backward) {
      add_gradient_hypotheses(list);
    } else {
      add_key_hypotheses(list, k);
      add_result_hypotheses(list);
      if (k != ProblemKind::merge) add_frame_hypotheses(list);
      add_arithmetic_hypotheses(list, k);
    }
    return list;
  };
  static const std::vector<Hypothesis> all[] = {of(ProblemKind::softmax), of(ProblemKind::merge),
                                                of(ProblemKind::attention), of(ProblemKind::backward)};
  return all[static_cast<std::size_t>(kind)];
}

const Hypothesis* find_hypothesis(ProblemKind kind, std::string_view id) {
  const auto& list = hypotheses(kind);
  const auto found = std::ranges::find(list, id, &Hypothesis::id);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace flashproof
