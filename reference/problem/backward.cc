#include "reference/problem/backward.h"

#include <string>

#include "reference/problem/checks.h"
#include "reference/system/error.h"

namespace flashproof {

using namespace checks;

std::string_view name(BackwardMode mode) { return mode == BackwardMode::stage ? "stage" : "gradient"; }

void validate(const BackwardProblem& problem) {
  const AttentionProblem& forward = problem.forward;
  validate(forward);
  constexpr Feature kTaken[] = {Feature::window, Feature::alibi};
  if (const auto feature = forward.beyond(kTaken)) {
    throw UsageError(std::string(name(*feature)) +
                     ": not a feature of the backward problem, legal: " + std::string(absence(*feature)));
  }
  const Shape rows = {forward.batch(), forward.q_heads(), forward.q_length()};
  Shape values = rows;
  values.push_back(forward.value_dim());
  check_tensor("d_out", problem.d_out, 4, Legal::storage);
  check_same_format("d_out", problem.d_out, "q", forward.q);
  check_shape("d_out", problem.d_out, values);
  check_tensor("o", problem.o, 4, Legal::storage);
  check_shape("o", problem.o, values);
  check_tensor("lse", problem.lse, 3, Legal::f32);
  check_shape("lse", problem.lse, rows);
  // dq has another width than the forward output; dk and dv have the rows of k, which nothing bounded yet.
  check_output(problem.query_rows(), forward.head_dim());
  const std::int64_t heads = forward.batch() * forward.k_heads();
  check_axis("k axis 0 x axis 1 (batch x heads)", heads, 0, kMaxExtent);
  if (heads > 0 && forward.k_length() > kMaxExtent / heads) {
    throw UsageError("k axis 2: too long, batch x heads x keys must be at most " + std::to_string(kMaxExtent));
  }
  check_output(problem.key_rows(), forward.head_dim());
  check_output(problem.key_rows(), forward.value_dim());
  if (problem.mode != BackwardMode::stage && problem.mode != BackwardMode::gradient) {
    throw UsageError("mode: must be stage or gradient");
  }
}

}  // namespace flashproof
