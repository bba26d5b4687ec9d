// Which declarations attention.md covers, and which problems with each. The rest is refused by name.
#include <cmath>
#include <stdexcept>
#include <string>

#include "reference/bound/problem_bounds.h"
#include "reference/problem/error.h"

namespace flashproof::bound {

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("declared arithmetic: " + what);
}

bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

void require_products(const std::string& name, const Products& products) {
  const BlockFma& unit = products.unit;
  require(products.chains >= 1 && products.chains <= 4096, name + ".chains: 1..4096");
  require(unit.k >= 0 && unit.k <= 64, name + ".unit.k: 0 (none)..64");
  require(unit.k == 0 || (unit.f >= 7 && unit.f <= 46), name + ".unit.f: 7..46");
  require(unit.k == 0 || (unit.ofb >= 7 && unit.ofb <= 23), name + ".unit.ofb: 7..23");
  require(products.promote >= 0 && (products.promote == 0 || unit.k > 0), name + ".promote: 0, or more with a unit");
}

void require_scores(const Arithmetic& a) {
  if (a.unit == ScoreUnit::natural) {
    require(a.lse_form != LseForm::scaled_max_plus_log, "lse_form: natural scores take max_plus_log or base2");
    return;
  }
  require(a.exponent != Exponent::accurate && a.exponent != Exponent::scaled_exp2,
          "unit: raw takes fused, unfused or subtract_then_scale");
  require(!a.query_scaled && a.query == Format::f32, "unit: raw takes queries that are not scaled");
  require(a.lse_form != LseForm::max_plus_log, "lse_form: raw scores take scaled_max_plus_log or base2");
}

void require_stored(const Arithmetic& a) {
  const double scale = a.weights.scale;
  require(a.weights.format != Format::f64, "weights.format: f32 or narrower");
  int exponent = 0;
  const bool power = std::isfinite(scale) && scale > 0 && std::frexp(scale, &exponent) == 0.5;
  require(power && scale >= 0x1p-60 && scale <= 0x1p60, "weights.scale: a power of two, 2^-60..2^60");
  require(!a.weights.summed || a.reduction != Reduction::row_resident, "weights.summed: false for row_resident");
}

void require_split(const Arithmetic& a) {
  const Split& split = a.split;
  require(split.parts >= 1 && split.parts <= 65536, "split.parts: 1..65536");
  if (split.parts == 1) return;
  const bool sums = split.weights == MergeWeights::max_sum;
  const auto stored = [](Format f) { return f == Format::f32 || f == Format::f16 || f == Format::bf16; };
  require(a.reduction != Reduction::row_resident, "split.parts: row_resident takes 1");
  require(stored(split.partial_o), "split.partial_o: f32, f16 or bf16");
  require(stored(split.partial_lse), "split.partial_lse: f32, f16 or bf16");
  if (split.combine == Reduction::flat) {
    require(sums || split.weights == MergeWeights::shifted || split.weights == MergeWeights::division_free,
            "split.weights: flat takes shifted, division_free or max_sum");
  } else {
    require(split.combine == Reduction::pairwise_fold || split.combine == Reduction::pairwise_tree,
            "split.combine: flat, pairwise_fold or pairwise_tree");
    require(sums || split.weights == MergeWeights::stable || split.weights == MergeWeights::one_sided ||
                split.weights == MergeWeights::running,
            "split.weights: pairwise takes stable, one_sided, running or max_sum");
  }
  require(!sums || a.reduction == Reduction::chunk_deferred, "split.weights: max_sum takes chunk_deferred");
  require(!sums || split.partial_lse == Format::f32, "split.partial_lse: f32, max_sum has none");
}

}  // namespace

void require_attention(const Arithmetic& a) {
  const bool deferred = a.reduction == Reduction::chunk_deferred;
  require(deferred || a.reduction == Reduction::chunk_normalized || a.reduction == Reduction::row_resident,
          "reduction: attention takes chunk_deferred, chunk_normalized or row_resident");
  require(power_of_two(a.lanes) && a.lanes <= 4096, "lanes: a power of two, at most 4096");
  require(deferred || a.ending != Ending::division_free, "ending: division_free takes chunk_deferred");
  require(a.lazy_log2 >= 0 && a.lazy_log2 <= 63 && (deferred || a.lazy_log2 == 0),
          "lazy_log2: 0..63, and 0 but for chunk_deferred");
  require(deferred || !a.running_lanes, "running_lanes: false but for chunk_deferred");
  require(a.query != Format::f64, "query: f32 or narrower");
  require(a.tanh_error >= 0 && a.tanh_error < 0.5, "tanh_error in [0, 1/2)");
  require(a.lse_format == Format::f32, "lse_format: f32, there are no joins");
  require_products("dot", a.dot);
  require_products("values", a.values);
  require_scores(a);
  require_stored(a);
  require_split(a);
}

void require_attention_problem(const AttentionProblem& p, const Arithmetic& a) {
  if (a.unit == ScoreUnit::raw && !(p.scale > 0)) {
    throw UsageError("scale: " + std::to_string(p.scale) +
                     ", must be above 0 where raw scores carry it in the exponent");
  }
  if (p.softcap != 0.0F && a.tanh_error == 0) {
    throw UsageError("softcap: the declared arithmetic has no tanh_error, legal: softcap = 0");
  }
  if (p.softcap != 0.0F && p.softcap < 0x1p-126F && a.underflow == Underflow::flush) {
    throw UsageError("softcap: subnormal, must be 2^-126 or more where subnormals are flushed");
  }
}

}  // namespace flashproof::bound
