#include "reference/bound/declare/declaration.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace flashproof {
namespace {

class Rules {
 public:
  explicit Rules(const Arithmetic& arithmetic) : a_(arithmetic) {}

  std::string first_broken() {
    using enum Reduction;
    const bool deferred = a_.reduction == chunk_deferred;
    const bool running = a_.reduction == lse_running;
    require(deferred || running || a_.reduction == chunk_normalized || a_.reduction == chunk_recap ||
                a_.reduction == row_resident,
            "reduction: attention takes chunk_deferred, chunk_normalized, chunk_recap, lse_running or row_resident");
    require(is_power_of_two(a_.lanes) && a_.lanes <= 4096, "lanes: a power of two, at most 4096");
    require(is_power_of_two(a_.deal) && a_.deal <= 64, "deal: a power of two, at most 64");
    require(a_.lane_joins >= 0 && a_.lane_joins <= 4096, "lane_joins: 0..4096");
    require(deferred || running || a_.ending != Ending::division_free,
            "ending: division_free takes chunk_deferred or lse_running");
    require(!running || a_.ending == Ending::division_free, "ending: lse_running takes division_free");
    require(!running || subtracts_first(), "exponent: lse_running takes accurate or scaled_exp2, natural scores");
    require(!running || a_.lse_form == LseForm::max_plus_log, "lse_form: lse_running takes max_plus_log");
    require(!running || a_.split.parts == 1, "split.parts: lse_running takes 1");
    separated();
    require(a_.lazy_log2 >= 0 && a_.lazy_log2 <= 63 && (deferred || a_.lazy_log2 == 0),
            "lazy_log2: 0..63, and 0 but for chunk_deferred");
    require(deferred || !a_.running_lanes, "running_lanes: false but for chunk_deferred");
    if (const std::string visits = visits_contradiction(a_); !visits.empty()) require(false, visits);
    products("dot", a_.dot);
    products("values", a_.values);
    scores();
    stored();
    split();
    return std::move(broken_);
  }

 private:
  void require(bool holds, std::string what) {
    if (!holds && broken_.empty()) broken_ = std::move(what);
  }

  bool subtracts_first() const {
    return a_.unit == ScoreUnit::natural && (a_.exponent == Exponent::accurate || a_.exponent == Exponent::scaled_exp2);
  }

  void separated() {
    require(a_.separated_exponent || !a_.per_key, "per_key: takes separated_exponent");
    if (!a_.separated_exponent) return;
    require(a_.reduction == Reduction::chunk_normalized, "separated_exponent: takes chunk_normalized");
    require(subtracts_first(), "exponent: separated_exponent takes accurate or scaled_exp2, natural scores");
    require(a_.ending == Ending::divide, "ending: separated_exponent takes divide");
    require(a_.values.unit.k == 0 && !a_.values.tf32_inputs, "values: separated_exponent takes fma chains");
    require(!a_.per_key || a_.values.chains == 1, "values.chains: per_key takes 1");
    require(!a_.per_key || a_.lanes == 1, "lanes: per_key takes 1");
    require(a_.weights.format == Format::f32 && a_.weights.scale == 1, "weights: separated_exponent takes f32");
    require(a_.split.parts == 1, "split.parts: separated_exponent takes 1");
  }

  void products(const std::string& name, const Products& products) {
    const BlockFma& unit = products.unit;
    require(products.chains >= 1 && products.chains <= 4096, name + ".chains: 1..4096");
    require(unit.k >= 0 && unit.k <= 64, name + ".unit.k: 0 (none)..64");
    require(unit.k == 0 || (unit.f >= 7 && unit.f <= 46), name + ".unit.f: 7..46");
    require(unit.k == 0 || (unit.ofb >= 7 && unit.ofb <= 23), name + ".unit.ofb: 7..23");
    require(products.promote >= 0 && (products.promote == 0 || unit.k > 0), name + ".promote: 0, or more with a unit");
  }

  void scores() {
    if (a_.unit == ScoreUnit::natural) {
      require(a_.lse_form != LseForm::scaled_max_plus_log, "lse_form: natural scores take max_plus_log or base2");
      return;
    }
    require(a_.exponent != Exponent::accurate && a_.exponent != Exponent::scaled_exp2,
            "unit: raw takes fused, unfused or subtract_then_scale");
    require(!a_.query_scaled && a_.query == Format::f32, "unit: raw takes queries that are not scaled");
    require(a_.lse_form != LseForm::max_plus_log, "lse_form: raw scores take scaled_max_plus_log or base2");
  }

  void stored() {
    const double scale = a_.weights.scale;
    int exponent = 0;
    const bool power = std::isfinite(scale) && scale > 0 && std::frexp(scale, &exponent) == 0.5;
    require(power && scale >= 0x1p-60 && scale <= 0x1p60, "weights.scale: a power of two, 2^-60..2^60");
    // Else every P is 0, and their sum too.
    require(scale > min_subnormal(a_.weights.format), "weights.scale: above the smallest number of weights.format");
    require(!a_.weights.summed || a_.reduction != Reduction::row_resident, "weights.summed: false for row_resident");
  }

  void split() {
    using enum MergeWeights;
    const Split& split = a_.split;
    require(split.parts >= 1 && split.parts <= 65536, "split.parts: 1..65536");
    if (split.parts == 1) return;
    const bool sums = split.weights == max_sum;
    require(a_.reduction != Reduction::row_resident, "split.parts: row_resident takes 1");
    if (split.combine == Reduction::flat) {
      require(sums || split.weights == shifted || split.weights == division_free,
              "split.weights: flat takes shifted, division_free or max_sum");
    } else {
      require(split.combine == Reduction::pairwise_fold || split.combine == Reduction::pairwise_tree,
              "split.combine: flat, pairwise_fold or pairwise_tree");
      require(sums || split.weights == stable || split.weights == one_sided || split.weights == running,
              "split.weights: pairwise takes stable, one_sided, running or max_sum");
    }
    require(!sums || a_.reduction == Reduction::chunk_deferred, "split.weights: max_sum takes chunk_deferred");
    require(!sums || split.partial_lse == Format::f32, "split.partial_lse: f32, max_sum has none");
  }

  const Arithmetic& a_;
  std::string broken_;
};

}  // namespace

std::string attention_contradiction(const Arithmetic& arithmetic) { return Rules(arithmetic).first_broken(); }

std::string visits_contradiction(const Arithmetic& a) {
  using enum Reduction;
  const bool every_order = a.visits == BlockOrder::any;
  const Reduction r = a.reduction;
  const bool chunked = r == chunk_deferred || r == chunk_normalized || r == chunk_recap || r == lse_running ||
                       r == chunked_online || r == chunked_local || r == chunk_states;
  if (!chunked && (a.block != 0 || a.visits != BlockOrder::plan)) {
    return "block, visits: 0 and plan, this reduction visits no chunks";
  }
  if (a.block < 0 || a.block > kMostBlock) return "block: 0 (the plan's chunks), or 1.." + std::to_string(kMostBlock);
  if (a.block > 0 && a.visits == BlockOrder::plan) {
    return "visits: ascending, descending or any, the plan has no order for blocks of the kernel's own";
  }
  // More lanes than keys are idle ones, and idle ones add nothing.
  if (a.block > 0 && std::int64_t{a.lanes} * a.deal > a.block) return "lanes times deal: at most block";
  if (!every_order) return {};
  if (r != chunk_deferred && r != chunked_online && r != chunked_local) {
    return "visits: any takes chunk_deferred, chunked_online or chunked_local";
  }
  if (a.block == 0) return "block: 1 or more where visits is any";
  if (a.split.parts > 1) return "split.parts: 1 where visits is any";
  // So that a key's lane, chain, step and segment are the same in every chunk that it may be in.
  const auto fits = [&](std::int64_t n) { return n <= 1 || a.block % n == 0; };
  if (!fits(std::int64_t{a.lanes} * a.deal) || !fits(a.values.chains) || !fits(a.values.unit.k) ||
      !fits(a.values.promote)) {
    return "block: a multiple of lanes times deal, values.chains, values.unit.k and values.promote where visits is any";
  }
  return {};
}

ChunkPlan visited_plan(const ChunkPlan& plan, const Arithmetic& a) {
  ChunkPlan visited = plan;
  if (a.block > 0) visited = ChunkPlan::uniform(plan.boundary.empty() ? 0 : plan.boundary.back(), a.block);
  if (a.visits != BlockOrder::plan) std::iota(visited.order.begin(), visited.order.end(), 0);
  if (a.visits == BlockOrder::descending) std::reverse(visited.order.begin(), visited.order.end());
  return visited;
}

std::string raw_scores_refused(const AttentionProblem& p) {
  const std::string legal = ", must be above 0 where raw scores carry it in the exponent";
  if (p.q_descale.shape.empty() && p.k_descale.shape.empty()) {
    return p.scale > 0 ? std::string() : "scale: " + std::to_string(p.scale) + legal;
  }
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      const double factor =
          p.scale * AttentionProblem::descale(p.q_descale, s, kv) * AttentionProblem::descale(p.k_descale, s, kv);
      if (factor > 0) continue;
      return "scale times the descale factors [" + std::to_string(s) + ", " + std::to_string(kv) +
             "]: " + std::to_string(factor) + legal;
    }
  }
  return {};
}

}  // namespace flashproof
