#include "reference/error/semantics/rounded_truth.h"

#include <limits>

#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

double number(const Ball& ball) {
  if ((ball.classes & kFinite) != 0) return ball.hi + ball.lo;
  if ((ball.classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return (ball.classes & kPosInf) != 0 ? infinity : -infinity;
}

}  // namespace

Tensor rounded_truth(const Problem& problem, Part part) {
  Oracle oracle(problem);
  const Truth& truth = oracle.truth();
  const Balls& balls = part == Part::o ? truth.o : truth.lse;
  const Format format = part == Part::o ? output_format(problem) : Format::f32;
  Tensor tensor =
      Tensor::dense(format, part == Part::o ? std::vector{truth.rows, truth.width} : std::vector{truth.rows});
  for (std::size_t i = 0; i < balls.size(); ++i) {
    tensor.set_bits(static_cast<std::int64_t>(i), encode(format, number(balls[i])));
  }
  return tensor;
}

}  // namespace flashproof
