// One set of visible keys, said in several ways: causal; a window of (left, 0); a bias of −inf at every other key; for one
// query its last visible key as a length. Exact o and lse depend on the set alone, so all agree within both bounds, and
// causal and (left, 0) in every bit, where the kernel declares itself deterministic: the plan is the same, so every chunk has the
// same keys in the same places, and no number but the positions compared is another. A bias adds an operation to every score, one query alone sits in another
// tile: there only the bounds hold. A problem without a mask is made causal first.
#include <algorithm>
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::mask_forms_agree {
namespace {

constexpr std::string_view kName = "mask_forms_agree";
constexpr std::string_view kTeeth[] = {"attention.broken.causal_tile_skipped_early",
                                       "attention.broken.causal_top_left",
                                       "attention.broken.finite_mask",
                                       "attention.broken.window_one_wide",
                                       "attention.broken.tail_not_masked",
                                       "attention.broken.tail_scored_zero",
                                       "attention.broken.last_tile_dropped",
                                       "attention_backward.broken.window_of_zero_ignored"};

bool masked(const AttentionProblem& p) { return p.causal || p.window_left >= 0 || p.window_right >= 0; }

AttentionProblem unmasked(AttentionProblem p) {
  p.causal = false;
  p.window_left = p.window_right = -1;
  return p;
}

AttentionProblem as_bias(const AttentionProblem& p) {
  AttentionProblem changed = unmasked(p);
  changed.bias = dense_bias(p);
  for_each_query(p, [&](std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t) {
    const auto keys = p.visible_keys(s, i);
    for (std::int64_t j = 0; j < p.k_length(); ++j) {
      if (j < keys.first || j >= keys.last) changed.bias.set({s, h, i, j}, -std::numeric_limits<double>::infinity());
    }
  });
  return changed;
}

/// Query i alone, with a length; false if it does not see its keys from the first one on, or a position matters otherwise.
bool as_length(AttentionProblem& p, std::int64_t i) {
  if (p.packed() || p.counts_distances()) return false;
  const AttentionProblem from = p;
  p = unmasked(p);
  p.key_length.clear();
  for (std::int64_t s = 0; s < from.sequences(); ++s) {
    const auto keys = from.visible_keys(s, i);
    if (keys.first > 0) return false;
    p.key_length.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(keys.last, 0)));
  }
  const std::int64_t only[] = {i};
  p.q = gather(from.q, 2, only);
  if (p.has_bias()) p.bias = gather(from.bias, 2, only);
  return true;
}

class Forms {
 public:
  Forms(Trial& trial, const AttentionProblem& base)
      : trial_(trial),
        base_(base),
        output_(base == std::get<AttentionProblem>(trial.problem()) ? trial.output() : trial.run(base)),
        bound_(trial.bound_of(base)),
        rows_(ordinary_rows(base)) {}

  void other_spelling() {
    Problem changed = base_;
    if (!respell_mask(std::get<AttentionProblem>(changed)) || !trial_.refusal(changed).empty()) return;
    const Output output = trial_.run(changed);
    tally_.add(same_answers(trial_, {changed, output}, {base_, output_}), Failure::exceeds_bound,
               ", a window that ends at 0 against causal");
  }

  void bias() {
    if (base_.packed() || base_.k_length() == 0) return;
    const AttentionProblem changed = as_bias(base_);
    if (!trial_.refusal(changed).empty()) return;
    const Output output = trial_.run(changed);
    const Bound bound = trial_.bound_of(changed);
    tally_.same({output, bound, trial_.contract()}, reading(), "a bias of -inf against a mask", rows_);
  }

  void length(Random& random) {
    if (base_.packed() || base_.q_length() == 0) return;
    const std::int64_t i = random.integer(0, base_.q_length() - 1);
    AttentionProblem changed = base_;
    if (!as_length(changed, i) || !trial_.refusal(changed).empty()) return;
    const Output output = trial_.run(changed);
    const Bound bound = trial_.bound_of(changed);
    const Reading computed(output, bound, trial_.contract()), expected = reading();
    for_each_query(changed, [&](std::int64_t s, std::int64_t h, std::int64_t, std::int64_t row) {
      const std::int64_t from = base_.output_row(s, h, i);
      if (rows_[static_cast<std::size_t>(from)] == 0) return;
      constexpr std::string_view kRelation = "a query alone with a length against its row under the mask";
      tally_.same_element(computed, expected, Part::lse, row, 0, from, 0, kRelation);
      for (std::int64_t c = 0; c < computed.width(); ++c) {
        tally_.same_element(computed, expected, Part::o, row, c, from, c, kRelation);
      }
    });
  }

  Verdict verdict() const {
    return tally_.verdict("no row of ordinary numbers, or no other form that the kernel takes");
  }

 private:
  Reading reading() const { return {output_, bound_, trial_.contract()}; }

  Trial& trial_;
  const AttentionProblem& base_;
  Output output_;
  Bound bound_;
  std::vector<std::uint8_t> rows_;
  Comparison tally_;
};

Verdict relate(Trial& trial) {
  const auto* p = std::get_if<AttentionProblem>(&trial.problem());
  if (p == nullptr) return unsupported("attention only: there are no masks");
  AttentionProblem base = *p;
  if (!masked(base)) base.causal = true;
  if (const std::string why = trial.refusal(base); !why.empty()) return unsupported(why);
  Forms forms(trial, base);
  Random random = trial.random(kName);
  forms.other_spelling();
  forms.bias();
  forms.length(random);
  return forms.verdict();
}

}  // namespace

Law mask_forms_agree() {
  return {"causal, window, a bias of -inf and a length that show the same keys agree within both bounds", kTeeth,
          relate, mask_forms_of_gradients};
}

}  // namespace flashproof::law::mask_forms_agree
