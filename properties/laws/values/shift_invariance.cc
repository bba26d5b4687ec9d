// The same number c added to every score: o stays, lse grows by c. Softmax x + c, merge lse + c (m with l), attention
// bias + c and sink + c.
//
// c must be exact in every entry. So the entries are first rounded to multiples of a power of two g, with |entry| + |c|
// below 2^p g in a format of p bits, and the base is run on these. The shifts, a near one drawn per case and a far one,
// cross what a fixed frame is made of: e^x beyond f32 (96), a head-room (2048), a sentinel of −5e4 (−131072), one of
// −1e30 (−2^101: there most entries are rounded to 0, and are equal).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/parts.h"

namespace flashproof::law::shift_invariance {
namespace {

constexpr std::string_view kName = "shift_invariance";
constexpr std::string_view kTeeth[] = {"attention.broken.finite_infinity", "attention.broken.row_max_reset",
                                       "attention.broken.lse_in_base_2",   "attention.broken.scale_dropped",
                                       "attention.broken.scale_twice",     "merge.broken.unshifted_lse",
                                       "merge.broken.unshifted_weights",   "merge.broken.misprinted_lse"};

constexpr double kBelowSentinel = -131072;
constexpr double kNear32[] = {96, 2048, kBelowSentinel}, kNear16[] = {96, -96};
constexpr double kFar32 = -0x1p101, kFar16 = -32768;

/// The tensor that is shifted.
Tensor& scores(SoftmaxProblem& p) { return p.x; }
Tensor& scores(MergeProblem& p) { return p.lse; }
Tensor& scores(AttentionProblem& p) { return p.bias; }

template <class P>
class Check {
 public:
  explicit Check(Trial& trial, P given) : trial_(trial), given_(std::move(given)) {}

  void of(double c) {
    P base = given_;
    Tensor& entries = scores(base);
    double furthest = largest(entries);
    if constexpr (std::is_same_v<P, AttentionProblem>) {
      if (base.has_sink()) furthest = std::max(furthest, largest(base.sink));
    }
    furthest += std::fabs(c);
    const FormatInfo& format = info(entries.format);
    const double step = step_of(furthest, format.precision);
    // Not a multiple of the step, c would be rounded.
    if (furthest >= format.max_finite || std::fmod(c, step) != 0) return;
    entries = rounded_to(entries, step);
    P changed = base;
    scores(changed) = shifted(entries, c);
    if constexpr (std::is_same_v<P, AttentionProblem>) {
      if (base.has_sink()) {
        base.sink = rounded_to(base.sink, step);
        changed.sink = shifted(base.sink, c);
      }
    }
    if (!tally_.taken(trial_.refusal(base)) || !tally_.taken(trial_.refusal(changed))) return;
    const Output as_given = trial_.run(base), output = trial_.run(changed);
    const Bound base_bound = trial_.bound_of(base), bound = trial_.bound_of(changed);
    const Reading before(as_given, base_bound, trial_.contract()), computed(output, bound, trial_.contract());
    const auto rows = ordinary_rows(base);
    const std::string relation = fmt::format("scores shifted by {} against as given", c);
    for (std::int64_t r = 0; r < computed.rows(); ++r) {
      if (rows[static_cast<std::size_t>(r)] == 0) continue;
      compare(tally_, computed, Part::lse, r, 0, expect(before, Part::lse, r, 0) + exactly(c), relation);
      for (std::int64_t column = 0; column < computed.width(); ++column) {
        compare(tally_, computed, Part::o, r, column, expect(before, Part::o, r, column), relation);
      }
    }
  }

  Verdict verdict() const { return tally_.verdict("no shift is exact in the format, or no row of ordinary numbers"); }

 private:
  Trial& trial_;
  P given_;
  Comparison tally_;
};

template <class P>
Verdict check(Trial& trial, P p) {
  const Format format = scores(p).format;
  Check<P> check(trial, std::move(p));
  const std::span<const double> near = format == Format::f32 ? std::span<const double>(kNear32) : kNear16;
  Random random = trial.random(kName);
  check.of(near[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(near.size()) - 1))]);
  if constexpr (std::is_same_v<P, AttentionProblem>) {
    check.of(kBelowSentinel);  // further away u|score| leaves no bound
  } else {
    check.of(format == Format::f16 ? kFar16 : kFar32);
  }
  return check.verdict();
}

Verdict relate(Trial& trial) {
  if (const auto* p = std::get_if<SoftmaxProblem>(&trial.problem())) return check(trial, *p);
  if (const auto* p = std::get_if<MergeProblem>(&trial.problem())) return check(trial, *p);
  AttentionProblem p = std::get<AttentionProblem>(trial.problem());
  if (p.packed()) return unsupported("packed sequences have no bias");
  p.bias = dense_bias(p);
  return check(trial, p);
}

}  // namespace

Law shift_invariance() {
  return {"c added to every score: the same o, and lse + c; of gradients to lse, too: the same dq, dk and dv", kTeeth,
          relate, shift_of_gradients};
}

}  // namespace flashproof::law::shift_invariance
