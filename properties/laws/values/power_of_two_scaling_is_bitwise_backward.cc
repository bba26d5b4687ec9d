// A power of two commutes with every rounding while results are normal, so three scalings show nothing, bit by bit:
//   dO times 2^k: dq, dk and dv times 2^k.        v and o times 2^k: dq and dk times 2^k, dv the same.
//   q times 2^k and scale times 2^-k: dq times 2^-k, dk and dv the same.
//
// What is normal. q, k, v, dO and o are planted with exponents in [-2, 1], so a product of two of them is a multiple of
// 2^-50, and so are all partial sums of dP and D, rounded or not, and t = dP − D: it is 0 or at least 2^-50. The scale is the
// power of two that keeps |τ q·k| below 8, and lse is the largest score of the row. Rows are left out whose scores, by bias
// or ALiBi, lie further than 27 below it: P is then at least 2^-39, dS = P·t at least 2^-89, its last bit 2^-112, that of
// dS·k 2^-137. With |k| <= 6 everything down to the last bit stays above 2^-149, so that what is subnormal is exact. A row
// that is left out takes the keys that it sees with it. An output is compared where it and its scaled self are normal numbers
// of their format. dS that is stored in f16 may be subnormal there in one run alone: those kernels are not asked about dO.
// A kernel that is not deterministic is asked for both bounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"
#include "properties/laws/support/weights.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "power_of_two_scaling_is_bitwise";
constexpr double kLeast = -27;  // of a score below its row's largest

/// x with its exponent in [-2, 1], or 0: exact in every format.
Tensor planted(const Tensor& tensor) {
  return mapped(tensor, [](double x) {
    if (!std::isfinite(x)) x = 1;
    if (x == 0) return 0.0;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::ldexp(fraction, std::clamp(exponent, -1, 2));
  });
}

Tensor times(const Tensor& tensor, int k) {
  return mapped(tensor, [&](double x) { return std::ldexp(x, k); });
}

/// The problem planted; rows whose weights may underflow are 0 in `rows`.
BackwardProblem prepared(const BackwardProblem& given, OrdinaryGradients& rows) {
  BackwardProblem p = as_stage(given);
  AttentionProblem& f = p.forward;
  for (Tensor* tensor : {&f.q, &f.k, &f.v, &p.d_out, &p.o}) *tensor = planted(*tensor);
  int exponent = 0;
  std::frexp(static_cast<double>(std::max<std::int64_t>(f.head_dim(), 1)), &exponent);
  f.scale = std::ldexp(1.0F, -exponent - 1);  // |q·k| < 16 d
  p.lse = mapped(p.lse, [](double) { return 0.0; });
  rows.query.assign(static_cast<std::size_t>(p.query_rows()), 0);
  for_each_row(f, Scores::compute, [&](const RowWeights& row) {
    const std::int64_t b = row.row / f.q_length() / f.q_heads(), h = row.row / f.q_length() % f.q_heads();
    double most = -std::numeric_limits<double>::infinity(), least = -most;
    for (const Measured& score : row.score) most = std::max(most, score.value), least = std::min(least, score.value);
    if (!row.empty()) p.lse.set({b, h, row.row % f.q_length()}, most);
    rows.query[static_cast<std::size_t>(row.row)] = row.empty() || least - most > kLeast ? 1 : 0;
  });
  rows.key.assign(static_cast<std::size_t>(p.key_rows()), 1);
  for_each_query(f, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t row) {
    const auto keys = f.visible_keys(b, i);
    for (std::int64_t j = keys.first; rows.query[static_cast<std::size_t>(row)] == 0 && j < keys.last; ++j) {
      rows.key[static_cast<std::size_t>(key_row(f, b, f.kv_head(h), j))] = 0;
    }
  });
  return p;
}

/// 0, or a normal number of the format that is one times 2^k, too.
bool scalable(Format format, double x, int k) {
  if (!std::isfinite(x)) return false;
  const double room = std::ldexp(1.0, std::abs(k) + 1);
  return std::fabs(x) >= min_normal(format) * room && std::fabs(x) * room <= info(format).max_finite;
}

class Scalings {
 public:
  explicit Scalings(Trial& trial)
      : trial_(trial), problem_(prepared(gradient_of(trial), rows_)), refusal_(trial.refusal(problem_)) {
    if (!refusal_.empty()) return;
    output_ = trial.run(problem_);
    bound_ = trial.bound_of(problem_);
  }

  bool refused() { return !tally_.taken(refusal_); }

  /// dq, dk and dv must be those of the problem itself, times these powers of two.
  void compare(const BackwardProblem& scaled, int dq, int dk, int dv, std::string_view relation) {
    if (!tally_.taken(trial_.refusal(scaled))) return;
    const Output gradients = trial_.run(scaled);
    if (trial_.contract().deterministic) {
      for (const auto& [part, k] : {std::pair{Part::dq, dq}, {Part::dk, dk}, {Part::dv, dv}})
        bits(part, gradients, k, relation);
      return;
    }
    const Bound scaled_bound = trial_.bound_of(scaled);
    const GradientReading from(output_, bound_), to(gradients, scaled_bound);
    for (const auto& [part, k] : {std::pair{Part::dq, dq}, {Part::dk, dk}, {Part::dv, dv}})
      within(part, from, to, k, relation);
  }

  const BackwardProblem& problem() const { return problem_; }
  Verdict verdict() const { return tally_.verdict("no row whose weights are normal numbers"); }

 private:
  const std::vector<std::uint8_t>& rows(Part part) const { return part == Part::dq ? rows_.query : rows_.key; }

  void bits(Part part, const Output& gradients, int k, std::string_view relation) {
    const GradientReading from(output_, bound_), to(gradients, bound_);
    for (std::int64_t row = 0; row < from.rows(part); ++row) {
      for (std::int64_t c = 0; rows(part)[static_cast<std::size_t>(row)] != 0 && c < from.width(part); ++c) {
        const double x = from.value(part, row, c), y = to.value(part, row, c);
        if (from.standing(part, row, c) == Standing::excused || !scalable(from.format(part), x, k)) continue;
        if (y == std::ldexp(x, k)) {
          tally_.held();
        } else {
          tally_.fail(Failure::exceeds_bound,
                      fmt::format("{}: {:.9g}, {} {:.9g}", place_of(part, row, c), x, relation, y));
        }
      }
    }
  }

  void within(Part part, const GradientReading& from, const GradientReading& to, int k, std::string_view relation) {
    for (std::int64_t row = 0; row < from.rows(part); ++row) {
      for (std::int64_t c = 0; rows(part)[static_cast<std::size_t>(row)] != 0 && c < from.width(part); ++c) {
        if (from.standing(part, row, c) != Standing::number || to.standing(part, row, c) != Standing::number) continue;
        tally_.agree(to.at(part, row, c), from.at(part, row, c) * exactly(std::ldexp(1.0, k)),
                     std::min(to.sharp(part), std::ldexp(from.sharp(part), k)),
                     [&] { return fmt::format("{}, {}", place_of(part, row, c), relation); });
      }
    }
  }

  Trial& trial_;
  OrdinaryGradients rows_;
  BackwardProblem problem_;
  std::string refusal_;
  Output output_;
  Bound bound_;
  Comparison tally_;
};

}  // namespace

Verdict power_of_two_scaling_of_gradients(Trial& trial) {
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  Scalings scalings(trial);
  if (scalings.refused()) return scalings.verdict();
  Random random = trial.random(kName);
  const auto power = [&] {  // the largest that is exact, as often as all others
    const auto size = static_cast<int>(random.chance(0.5) ? 6 : random.integer(1, 5));
    return random.chance(0.5) ? size : -size;
  };
  const Format format = gradient_of(trial).forward.q.format;
  const std::vector<BackwardArithmetic> declared = trial.kernel().backward_for(format);
  if (std::ranges::none_of(declared, [](const BackwardArithmetic& a) { return a.ds == Format::f16; })) {
    for (const int k : {6, -6}) {
      BackwardProblem scaled = scalings.problem();
      scaled.d_out = times(scaled.d_out, k);
      scalings.compare(scaled, k, k, k, "with dO scaled");
    }
    const int n = power();
    BackwardProblem scaled = scalings.problem();
    scaled.forward.v = times(scaled.forward.v, n);
    scaled.o = times(scaled.o, n);
    scalings.compare(scaled, n, n, 0, "with v and o scaled");
  }
  const int k = power();
  BackwardProblem scaled = scalings.problem();
  scaled.forward.q = times(scaled.forward.q, k);
  scaled.forward.scale = std::ldexp(scaled.forward.scale, -k);
  scalings.compare(scaled, -k, 0, 0, "with q scaled, and the scale against it");
  return scalings.verdict();
}

}  // namespace flashproof
