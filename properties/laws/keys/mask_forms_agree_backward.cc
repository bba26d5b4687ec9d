// One set of visible pairs, said in several ways: causal, a window that ends at 0, a bias of −inf at every other pair. With o
// and lse as they are stored every gradient depends on the set alone: causal and the window agree in every bit, since no
// number but the positions compared is another; a bias adds an operation to every score, there the bounds hold. A problem
// without a mask is made causal first.
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

bool masked(const AttentionProblem& p) { return p.causal || p.window_left >= 0 || p.window_right >= 0; }

void as_bias(AttentionProblem& p) {
  const AttentionProblem given = p;
  p.bias = dense_bias(given);
  p.causal = false;
  p.window_left = p.window_right = -1;
  for_each_query(given, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t) {
    const auto keys = given.visible_keys(b, i);
    for (std::int64_t j = 0; j < given.k_length(); ++j) {
      if (j < keys.first || j >= keys.last) p.bias.set({b, h, i, j}, -std::numeric_limits<double>::infinity());
    }
  });
}

class Forms {
 public:
  Forms(Trial& trial, const BackwardProblem& base)
      : trial_(trial),
        base_(base),
        output_(trial.run(base)),
        bound_(trial.bound_of(base)),
        ordinary_(ordinary_gradients(base)) {}

  void other_spelling() {
    BackwardProblem changed = base_;
    if (!respell_mask(changed.forward) || !trial_.refusal(changed).empty()) return;
    const Output gradients = trial_.run(changed);
    const std::string why = trial_.contract().deterministic ? first_gradient_difference(gradients, output_) : "";
    if (!why.empty()) tally_.fail(Failure::exceeds_bound, why + ", a window that ends at 0 against causal");
    compare(gradients, bound_, "a window that ends at 0 against causal");
  }

  void bias() {
    BackwardProblem changed = base_;
    if (base_.forward.k_length() == 0) return;
    as_bias(changed.forward);
    if (!tally_.taken(trial_.refusal(changed))) return;
    compare(trial_.run(changed), trial_.bound_of(changed), "a bias of -inf against a mask");
  }

  Verdict verdict() const { return tally_.verdict("no row of ordinary numbers"); }

 private:
  void compare(const Output& gradients, const Bound& bound, std::string_view relation) {
    const GradientReading computed(gradients, bound), expected(output_, bound_);
    for (const Part part : kGradientParts) {
      same_rows(tally_, part, computed, expected, iota(computed.rows(part)),
                part == Part::dq ? ordinary_.query : ordinary_.key, relation);
    }
  }

  Trial& trial_;
  const BackwardProblem& base_;
  Output output_;
  Bound bound_;
  OrdinaryGradients ordinary_;
  Comparison tally_;
};

}  // namespace

Verdict mask_forms_of_gradients(Trial& trial) {
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  BackwardProblem base = gradient_of(trial);
  if (!masked(base.forward)) base.forward.causal = true;
  if (std::string why = trial.refusal(base); !why.empty()) return unsupported(std::move(why));
  Forms forms(trial, base);
  forms.other_spelling();
  forms.bias();
  return forms.verdict();
}

}  // namespace flashproof
