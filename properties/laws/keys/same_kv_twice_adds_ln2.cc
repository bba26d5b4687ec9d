// Every key (or state) twice: every weight twice, so lse grows by ln 2 and o stays; a softmax has every column twice,
// at half its weight, and so have the blocks of a concatenation. A sink z is there once: with r = e^{z − lse} the sum
// of weights grows by 2 − r, lse by ln(2 − r), o by 2/(2 − r). Both radii and that of r are all that is allowed.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof::law::same_kv_twice_adds_ln2 {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.tail_dropped",       "attention.broken.accumulator_not_rescaled",
                                       "attention.broken.sum_not_rescaled", "attention.broken.lse_in_base_2",
                                       "merge.broken.merged_in_base_2",     "merge.broken.misprinted_lse"};
constexpr std::string_view kRelation = "every key twice against once";

std::vector<std::int64_t> twice(std::int64_t n) {
  auto index = iota(n);
  const auto again = iota(n);
  index.insert(index.end(), again.begin(), again.end());
  return index;
}

ChunkPlan twice(const ChunkPlan& plan) {
  ChunkPlan result = plan;
  for (std::size_t c = 1; c < plan.boundary.size(); ++c) {
    result.boundary.push_back(plan.boundary.back() + plan.boundary[c]);
  }
  for (const std::int32_t chunk : plan.order) result.order.push_back(chunk + plan.chunks());
  return result;
}

std::string double_all(SoftmaxProblem& p) {
  without_lengths(p);
  p.x = gather(p.x, 1, twice(p.x.shape[1]));
  p.plan = twice(p.plan);
  return {};
}

std::string double_all(AttentionProblem& p) {
  if (std::string why = without_positions(p, true); !why.empty()) return why;
  const auto index = twice(p.k_length());
  p.k = gather(p.k, 2, index);
  p.v = gather(p.v, 2, index);
  if (p.has_bias()) p.bias = gather(p.bias, 3, index);
  p.plan = twice(p.plan);
  return {};
}

std::string double_all(MergeProblem& p) {
  const std::int64_t n = p.o.shape[0];
  p.o = gather(p.o, 0, twice(n));
  p.lse = gather(p.lse, 0, twice(n));
  if (p.has_l()) p.l = gather(p.l, 0, twice(n));
  const auto order = p.order;
  for (const std::int32_t state : order) p.order.push_back(state + static_cast<std::int32_t>(n));
  if (p.joins.empty()) return {};
  // The tree twice and the two roots joined: n leaves more come before the inner nodes, the second tree's behind.
  const auto leaves = static_cast<std::int32_t>(n);
  std::vector<Join> joins;
  for (const std::int32_t copy : {0, 1}) {
    const auto moved = [&](std::int32_t node) {
      return node < leaves ? node + copy * leaves : node + leaves + copy * (leaves - 1);
    };
    for (const Join& join : p.joins) joins.push_back({moved(join.left), moved(join.right)});
  }
  joins.push_back({3 * leaves - 2, 4 * leaves - 3});
  p.joins = std::move(joins);
  return {};
}

/// The sink of a row; −inf where there is none.
std::vector<double> sinks(const Problem& problem) {
  std::vector<double> result(static_cast<std::size_t>(output_shape(problem).rows),
                             -std::numeric_limits<double>::infinity());
  const auto* p = std::get_if<AttentionProblem>(&problem);
  if (p == nullptr || !p->has_sink()) return result;
  for_each_query(*p, [&](std::int64_t, std::int64_t h, std::int64_t, std::int64_t row) {
    result[static_cast<std::size_t>(row)] = p->sink.at({h});
  });
  return result;
}

Verdict relate(Trial& trial) {
  Problem changed = trial.problem();
  std::string why = visit_forward([](auto& p) { return double_all(p); }, changed);
  if (why.empty()) why = trial.refusal(changed);
  if (!why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  const Reading computed(output, bound, trial.contract());
  const Reading base(trial.output(), trial.bound(), trial.contract());
  const auto rows = ordinary_rows(trial.problem());
  const auto sink = sinks(trial.problem());
  // Where there are twice as many columns, each is half as much.
  const bool halves = computed.width() != base.width();
  Comparison tally;
  for (std::int64_t r = 0; r < computed.rows(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    if (rows[row] == 0) continue;
    const Expected lse = expect(base, Part::lse, r, 0);
    Measured growth = log(exactly(2)), factor = exactly(halves ? 0.5 : 1);
    if (std::isfinite(sink[row])) {
      if (lse.standing != Standing::number) continue;
      const Measured above = exactly(sink[row]) - lse.value;
      if (above.value - above.radius > 0) {  // it is one of the terms of lse
        tally.fail(Failure::exceeds_bound,
                   fmt::format("{}: {:.9g}, certainly below the sink, {:.9g}", place_of(Part::lse, r, 0),
                               base.value(Part::lse, r, 0), sink[row]));
        continue;
      }
      growth = log(exactly(2) - share(above));
      if (!std::isfinite(growth.radius)) continue;
      factor = exactly(2) * exp(exactly(0) - growth);
    }
    compare(tally, computed, Part::lse, r, 0, lse + growth, kRelation);
    for (std::int64_t c = 0; c < computed.width(); ++c) {
      Expected o = expect(base, Part::o, r, c % base.width());
      if (factor.value != 1) o = o * factor;
      compare(tally, computed, Part::o, r, c, o, kRelation);
    }
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law same_kv_twice_adds_ln2() {
  return {"every key twice: the same o, and lse + ln 2; the same dq, and each copy half of dk and dv", kTeeth, relate,
          same_kv_twice_of_gradients};
}

}  // namespace flashproof::law::same_kv_twice_adds_ln2
