#include "reference/oracle/backward/backward_truth.h"

#include <string>
#include <vector>

#include "reference/oracle/backward/tiers.h"
#include "reference/oracle/backward/view.h"
#include "reference/oracle/environment_guard.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using backward::View;

/// Elements [first, first + width) of one output.
struct Part {
  Balls& balls;
  const std::vector<std::uint8_t>& special;
  std::size_t first, width;
};

std::uint8_t special_of(const Part& part, std::size_t c) {
  return part.special.empty() ? 0 : part.special[part.first + c];
}

bool decided(const Part& part, std::size_t c, Format format) {
  const bool symbolic = (special_of(part, c) & (backward::kIsNaN | backward::kNotFinite)) != 0;
  return symbolic || narrow_enough(part.balls[part.first + c], format);
}

bool decided(const std::vector<Part>& parts, Format format) {
  for (const Part& part : parts) {
    for (std::size_t c = 0; c < part.width; ++c) {
      if (!decided(part, c, format)) return false;
    }
  }
  return true;
}

template <class Compute>
void climb(const std::vector<Part>& parts, Format format, Truth& truth, Compute&& compute) {
  if (!decided(parts, format)) {
    ++truth.exact_rows;
    for (int bits = 128; bits <= kMaxBits && !decided(parts, format); bits *= 2) {
      truth.max_bits = bits > truth.max_bits ? bits : truth.max_bits;
      const std::vector<Ball> row = compute(bits);
      std::size_t n = 0;
      for (const Part& part : parts) {
        for (std::size_t c = 0; c < part.width; ++c) part.balls.set(part.first + c, row[n++]);
      }
    }
  }
  for (const Part& part : parts) {
    for (std::size_t c = 0; c < part.width; ++c) {
      if (!decided(part, c, format)) ++truth.inconclusive;
      const std::uint8_t special = special_of(part, c);
      if (special == 0) continue;
      Ball ball = part.balls[part.first + c];
      backward::apply_special(special, ball);
      part.balls.set(part.first + c, ball);
    }
  }
}

}  // namespace

void require_backward_memory(const BackwardProblem& problem, std::int64_t limit) {
  const std::int64_t needed = backward::view_bytes(problem);
  if (needed <= limit) return;
  throw UsageError("backward problem: needs " + std::to_string(needed) + " bytes, must be at most the limit " +
                   std::to_string(limit));
}

Truth narrow_truth_of(const Problem& problem, Format format, OracleOptions options) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return gradient == nullptr ? narrow_truth(problem, format, options) : backward_truth(*gradient, format, options);
}

Truth backward_truth(const BackwardProblem& problem, Format format, OracleOptions options) {
  require_ieee_environment();
  validate(problem);
  require_backward_memory(problem, options.memory_limit);
  const View view(problem);
  backward::Fp64Gradients fast = backward::fp64_gradients(view);
  Truth truth;
  truth.rows = problem.query_rows();
  truth.width = view.d;
  truth.value_width = view.dv;
  truth.dq = std::move(fast.dq);
  truth.dk = std::move(fast.dk);
  truth.dv = std::move(fast.dv);
  const auto exact = backward::exact_rows(view);
  const auto d = static_cast<std::size_t>(view.d), dv = static_cast<std::size_t>(view.dv);
  for (std::int64_t r = 0; r < problem.query_rows(); ++r) {
    climb({{truth.dq, view.dq_special, static_cast<std::size_t>(r) * d, d}}, format, truth,
          [&](int bits) { return exact->query_row(r, bits); });
  }
  for (std::int64_t r = 0; r < problem.key_rows(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    climb({{truth.dk, view.dk_special, row * d, d}, {truth.dv, view.dv_special, row * dv, dv}}, format, truth,
          [&](int bits) { return exact->key_row(r, bits); });
  }
  return truth;
}

}  // namespace flashproof
