#include <cmath>
#include <span>
#include <vector>

#include "reference/error/semantics/declared_truth.h"
#include "reference/error/semantics/rounded_truth.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/backward/tiers.h"
#include "reference/oracle/backward/view.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/special_values.h"
#include "reports/plugin/test/adversaries.h"

namespace flashproof {
namespace {

/// The middle of each ball.
Tensor rounded(const Balls& balls, Tensor tensor, Overflow overflow) {
  for (std::size_t i = 0; i < balls.size(); ++i) {
    const Ball ball = balls[i];
    const double value = (ball.classes & (kFinite | kUnspecified)) != 0 ? ball.hi + ball.lo
                         : (ball.classes & kNaN) != 0                   ? std::nan("")
                         : (ball.classes & kPosInf) != 0                ? kInfinity
                                                                        : -kInfinity;
    const std::uint64_t bits = encode(tensor.format, value, (ball.classes & kFinite) != 0 ? overflow : Overflow::ieee);
    // Where doubles ended and intervals took over is not to be seen in the sign of a zero.
    tensor.set_bits(static_cast<std::int64_t>(i), decode(tensor.format, bits) == 0 ? 0 : bits);
  }
  return tensor;
}

/// Whether the ball leaves open to which number it rounds.
bool is_open(const Ball& ball, Format format) {
  const double value = ball.hi + ball.lo;
  return ball.classes == kFinite && encode(format, value - ball.radius) != encode(format, value + ball.radius);
}

/// Of the o and lse that the problem holds, whatever they are the outputs of: a kernel reads them. backward_truth() narrows an element to a part of a unit in the last place, which leaves one in a few thousand open; a kernel that
/// rounds the exact value returns the same bits for the same value in every batch.
Truth settled_truth(BackwardProblem problem) {
  problem.mode = BackwardMode::stage;
  constexpr int kBits = 1024;
  const Format format = problem.forward.q.format;
  Truth truth = backward_truth(problem, format);
  const backward::View view(problem);
  const auto exact = backward::exact_rows(view);
  const auto settle = [&](std::int64_t rows, std::span<const Part> parts, const auto& row_of) {
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<Ball> row;
      std::size_t column = 0;
      for (const Part part : parts) {
        Balls& balls = part == Part::dq ? truth.dq : part == Part::dk ? truth.dk : truth.dv;
        const std::size_t width = balls.size() / static_cast<std::size_t>(rows);
        for (std::size_t c = 0; c < width; ++c, ++column) {
          const std::size_t i = static_cast<std::size_t>(r) * width + c;
          if (!is_open(balls[i], format)) continue;
          if (row.empty()) row = row_of(r, kBits);
          balls.set(i, row[column]);
        }
      }
    }
  };
  const std::span gradients(kGradientParts);
  settle(problem.query_rows(), gradients.first(1), [&](auto r, int bits) { return exact->query_row(r, bits); });
  settle(problem.key_rows(), gradients.subspan(1), [&](auto r, int bits) { return exact->key_row(r, bits); });
  return truth;
}

}  // namespace

Output right_output(const Problem& problem, const Semantics& semantics, Overflow overflow) {
  Output output;
  const auto round = [&](Part part, const Balls& balls) {
    output[part] = rounded(balls, Tensor::dense(output_format(problem, part), output_shape(problem, part)), overflow);
  };
  if (const auto* gradient = std::get_if<BackwardProblem>(&problem)) {
    const Truth exact = settled_truth(*gradient);
    for (const Part part : kGradientParts) round(part, exact[part]);
    return output;
  }
  if (semantics == Semantics{}) return {rounded_truth(problem, Part::o), rounded_truth(problem, Part::lse)};
  Oracle oracle(problem);
  const DeclaredTruth declared(problem, semantics, oracle.truth());
  for (const Part part : kForwardParts) round(part, declared.truth()[part]);
  return output;
}

}  // namespace flashproof
