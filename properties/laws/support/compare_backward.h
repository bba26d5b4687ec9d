// dq, dk and dv as compare.h reads o and lse: numbers with the distance that the kernel's own a-priori bound allows them
// from the exact ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "properties/laws/law.h"
#include "properties/laws/support/compare.h"

namespace flashproof {

/// The problem of a trial of gradients.
inline const BackwardProblem& gradient_of(const Trial& trial) { return std::get<BackwardProblem>(trial.problem()); }

/// Gradients beside the bound of their problem. References must outlive it.
class GradientReading {
 public:
  GradientReading(const Output& gradients, const Bound& bound);

  const Tensor& tensor(Part part) const;
  Format format(Part part) const { return tensor(part).format; }
  std::int64_t rows(Part part) const;
  std::int64_t width(Part part) const { return tensor(part).shape.back(); }
  double value(Part part, std::int64_t row, std::int64_t column) const;
  Standing standing(Part part, std::int64_t row, std::int64_t column) const;
  /// As Reading::at.
  Measured at(Part part, std::int64_t row, std::int64_t column) const;
  /// Half of the largest number of the tensor: a comparison with a larger radius shows nothing.
  double sharp(Part part) const { return sharp_[static_cast<std::size_t>(part) - static_cast<std::size_t>(Part::dq)]; }

 private:
  const Output& gradients_;
  const Bound& bound_;
  double sharp_[3];
};

/// Element (part, row, column) of the one and (part, expected_row, column) of the other must be the same number, or both
/// special; where either is excused nothing is compared.
void same_gradient(Comparison& tally, Part part, const GradientReading& computed, std::int64_t row,
                   const GradientReading& expected, std::int64_t expected_row, std::int64_t column,
                   std::string_view relation);
/// Row r of the one and from[r] of the other, for every r; an index below 0 is left out, and what is 0 in `rows` (by from[r]).
void same_rows(Comparison& tally, Part part, const GradientReading& computed, const GradientReading& expected,
               std::span<const std::int64_t> from, std::span<const std::uint8_t> rows, std::string_view relation);

/// "" if the rows have the same bits, every NaN counting as the same.
std::string row_difference(Part part, const Tensor& a, std::int64_t a_row, const Tensor& b, std::int64_t b_row);
/// All rows of the three.
std::string first_gradient_difference(const Output& a, const Output& b);

/// Rows of dq, and of dk and dv, whose every input is an ordinary number (ordinary_rows of change.h; of dO and o too, and
/// lse): of a key those of all queries that see it. A query that sees no key is ordinary whatever it holds.
struct OrdinaryGradients {
  std::vector<std::uint8_t> query, key;
};
OrdinaryGradients ordinary_gradients(const BackwardProblem& problem);

/// A stage with these numbers: its o and lse are inputs like the others.
inline BackwardProblem as_stage(BackwardProblem problem) {
  problem.mode = BackwardMode::stage;
  return problem;
}

/// The trial's problem for a law whose change moves o and lse as a forward pass would: a stage where these are inputs. A kernel that
/// makes its own follows by itself.
inline BackwardProblem with_any_forward(const Trial& trial) {
  return trial.kernel().own_forward ? gradient_of(trial) : as_stage(gradient_of(trial));
}

/// Row of dq, and of dk and dv.
inline std::int64_t query_row(const AttentionProblem& p, std::int64_t b, std::int64_t h, std::int64_t i) {
  return (b * p.q_heads() + h) * p.q_length() + i;
}
inline std::int64_t key_row(const AttentionProblem& p, std::int64_t b, std::int64_t kv, std::int64_t j) {
  return (b * p.k_heads() + kv) * p.k_length() + j;
}

}  // namespace flashproof
