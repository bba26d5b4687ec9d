// The two tiers behind backward_truth.h. Rows are numbered as in backward.h; special values are applied by the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "reference/oracle/backward/view.h"
#include "reference/oracle/truth.h"

namespace flashproof::backward {

/// All rows in doubles, each element with a rigorous radius; +inf where doubles cannot say. README.md, "fp64".
struct Fp64Gradients {
  Balls dq, dk, dv;
};
Fp64Gradients fp64_gradients(const View& view);

/// One row at a time, scores and dP − D without rounding, the rest in intervals. Not thread-safe.
class ExactRows {
 public:
  virtual ~ExactRows() = default;
  /// d balls. bits = 128 .. kMaxBits.
  virtual std::vector<Ball> query_row(std::int64_t row, int bits) = 0;
  /// d balls of dk, then dv of dv.
  virtual std::vector<Ball> key_row(std::int64_t row, int bits) = 0;
};
std::unique_ptr<ExactRows> exact_rows(const View& view);

}  // namespace flashproof::backward
