// truth CASE --out FILE: the exact answer, value and radius, as .safetensors. Every tensor is f64 with a last axis of
// 2, (hi, lo): the value is hi + lo; a radius has lo = 0. An answer that is NaN or ±inf stands in hi as such.
#include <cstdio>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "reference/oracle/oracle.h"
#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/witness.h"
#include "reports/commands/commands.h"
#include "reports/exit_codes.h"
#include "reports/text.h"

namespace flashproof {
namespace {

double symbolic(const Ball& ball) {
  if ((ball.classes & kNaN) != 0) return std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  return (ball.classes & kPosInf) != 0 ? inf : -inf;
}

struct Pair {
  Tensor value, radius;
};

Pair tensors_of(const std::vector<Ball>& balls, std::vector<std::int64_t> shape) {
  shape.push_back(2);
  Pair pair{Tensor::dense(Format::f64, shape), Tensor::dense(Format::f64, shape)};
  for (std::size_t i = 0; i < balls.size(); ++i) {
    const Ball& ball = balls[i];
    const bool finite = (ball.classes & kFinite) != 0;
    const auto at = static_cast<std::int64_t>(2 * i);
    pair.value.set_bits(at, encode(Format::f64, finite ? ball.hi : symbolic(ball)));
    pair.value.set_bits(at + 1, encode(Format::f64, finite ? ball.lo : 0.0));
    pair.radius.set_bits(at, encode(Format::f64, finite ? ball.radius : 0.0));
    pair.radius.set_bits(at + 1, encode(Format::f64, 0.0));
  }
  return pair;
}

}  // namespace

int truth_command(const std::string& target, const std::string& out_file) {
  const PlannedCase planned = load_case(target);
  replaceable_file(out_file);  // before the work
  const Problem& problem = planned.data->problem;
  const Truth truth = compute_truth(problem);
  std::vector<std::int64_t> rows = {truth.rows};
  if (const auto* attention = std::get_if<AttentionProblem>(&problem)) {
    rows = {attention->batch(), attention->q_heads(), attention->q_length()};
  }
  std::vector<std::int64_t> o_shape = rows;
  o_shape.push_back(truth.width);
  Pair o = tensors_of(truth.o, o_shape), lse = tensors_of(truth.lse, rows);
  bool decided = true;
  for (const auto* balls : {&truth.o, &truth.lse}) {
    for (const Ball& ball : *balls) decided = decided && ball.decided;
  }
  write_tensors(out_file,
                {{"o", std::move(o.value)},
                 {"o_radius", std::move(o.radius)},
                 {"lse", std::move(lse.value)},
                 {"lse_radius", std::move(lse.radius)}},
                {{"case", to_string(planned.spec)},
                 {"max_bits", std::to_string(truth.max_bits)},
                 {"decided", decided ? "yes" : "no"}});
  std::printf("%s\n", fmt::format("{}: {} rows x {}, at most {} bits{}", one_line(out_file), truth.rows, truth.width,
                                  truth.max_bits, decided ? "" : "; not every element was decided")
                          .c_str());
  return kExitFine;
}

}  // namespace flashproof
