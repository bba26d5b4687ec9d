// Row maximum in (88.72 - ln N, 88.72), 88.72 = ln FLT_MAX: no exponential overflows, their sum does. Forms without the
// shift by the maximum then return finite zeros (F51, kernels/broken). A merge also gets pairs of lse that lie 87, 88, 89
// or 104 apart, where the forms with one unshifted exponential overflow or underflow.
#include "properties/generators/build.h"

namespace flashproof::family::overflow_edge {
namespace {

// With N >= 8 keys: the top is at most 0.3 ln N + 0.5 below 88.72 (the grid of halves keeps it exact in bf16), the
// others at most ln N / 4 below the top, rounding to bf16 costs 1/4, noise of q.k about 1/8. Sum: 0.55 ln N + 0.875 <
// ln N for N >= 8, so N e^lowest > FLT_MAX. With 2..7 keys all are 88.5, and already two of them overflow (ln 2 = 0.69
// > 0.22).
void edge_row(Random& random, const LogitSite&, std::span<double> logits) {
  const double log_n = natural_log(static_cast<double>(std::max<std::size_t>(logits.size(), 1)));
  const double share = random.uniform(0.05, 0.3);
  const bool many = logits.size() >= 8;
  const double wanted = 88.72 - share * log_n;
  const double top = many ? 0.5 * static_cast<double>(static_cast<int>(2 * wanted)) : 88.5;
  for (double& logit : logits) {
    const double below = random.uniform(0, 0.25 * log_n);
    logit = many ? top - below : top;
  }
  if (!logits.empty()) logits[0] = top;
}

constexpr double kGaps[] = {87, 87.5, 88, 88.5, 88.75, 89, 90, 103, 103.5, 104, 105};

void gap_row(Random& random, const LogitSite&, std::span<double> logits) {
  const double base = random.uniform(-100, 100);
  for (std::size_t c = 0; c < logits.size(); ++c) {
    const double gap = pick(random, kGaps);
    const double jitter = 0.01 * random.normal();
    logits[c] = c % 2 == 0 ? base : base + gap + jitter;
  }
  // Half of the time the larger one comes first.
  if (random.chance(0.5)) std::reverse(logits.begin(), logits.end());
}

Case make(const CaseSpec& spec) {
  Problem problem = draw_shape(spec, {.min_length = 2, .exact_scale = true});
  turn_scale(spec, problem);
  Random random = value_stream(spec);
  const bool gaps = random.chance(0.5) && spec.problem == ProblemKind::merge;
  return with_rows(spec, std::move(problem), random, gaps ? gap_row : edge_row);
}

constexpr Promise kPromises[] = {
    {.field = &Difficulty::log_sum, .at_least = 88.7228, .share = 0.9, .only = ProblemKind::softmax},
    {.field = &Difficulty::log_sum, .at_least = 88.7228, .share = 0.9, .only = ProblemKind::attention},
    {.field = &Difficulty::log_sum, .at_least = 88.7228, .share = 0.4, .only = ProblemKind::merge},
    {.field = &Difficulty::lse_gap, .at_least = 86.9, .share = 0.25, .only = ProblemKind::merge}};

}  // namespace

Family overflow_edge() {
  return {"the sum of exp(x) overflows f32 and no term does; lse 87..104 apart", kAll, make, kPromises};
}

}  // namespace flashproof::family::overflow_edge
