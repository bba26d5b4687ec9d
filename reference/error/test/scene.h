// Test helper: a small hand-made output with its truth and bound, to be spoilt by the test.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// `bits` in `format` against these alone.
inline Verdict judge_element(Format format, std::uint64_t bits, const Ball& truth, const ElementBound& bound,
                             double range, bool in_domain, const Contract& contract) {
  const RowDomain domain{in_domain ? Precondition{} : Precondition{"head-room", 2, 1}};
  return decide({Part::o, 0, 0, format, bits, decode(format, bits), truth, bound, range, domain}, contract).verdict();
}

struct Scene {
  Output output;
  Truth truth;
  Bound bound;

  std::int64_t offset(std::int64_t row, std::int64_t column) const { return row * truth.width + column; }
  void set_o(std::int64_t row, std::int64_t column, double value) {
    output.o.set_bits(offset(row, column), encode(output.o.format, value));
  }
  void set_lse(std::int64_t row, double value) { output.lse.set_bits(row, encode(Format::f32, value)); }
  void set_true_o(std::int64_t row, std::int64_t column, const Ball& ball) {
    truth.o.set(static_cast<std::size_t>(offset(row, column)), ball);
  }
  /// Leaves the numbers of the ball alone.
  void set_true_class(std::int64_t row, std::int64_t column, std::uint8_t classes) {
    Ball ball = truth.o[static_cast<std::size_t>(offset(row, column))];
    ball.classes = classes;
    set_true_o(row, column, ball);
  }
  ElementBound& bound_o(std::int64_t row, std::int64_t column) {
    return bound.o[static_cast<std::size_t>(offset(row, column))];
  }
};

/// o[r, c] = (r + 1)/(c + 2), lse[r] = r + 1/3, the output their rounding; every bound 2^-20 in two terms (weights the
/// larger), range 1.
inline Scene make_scene(std::int64_t rows, std::int64_t width, Format format = Format::f32) {
  Scene s;
  s.output = {Tensor::dense(format, {rows, width}), Tensor::dense(Format::f32, {rows})};
  s.truth.rows = s.bound.rows = rows;
  s.truth.width = s.bound.width = width;
  const ElementBound bound{0x1.8p-21, 0, 0x1p-22, 0};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < width; ++c) {
      const double value = static_cast<double>(r + 1) / static_cast<double>(c + 2);
      s.truth.o.push_back({value, 0, 0x1p-60});
      s.bound.o.push_back(bound);
      s.bound.range.push_back(1.0);
      s.bound.accumulator_outside.push_back(0);
      s.set_o(r, c, value);
    }
    const double lse = static_cast<double>(r) + 1.0 / 3.0;
    s.truth.lse.push_back({lse, 0, 0x1p-60});
    s.truth.tier.push_back(Tier::fp64);
    s.bound.lse.push_back(bound);
    s.bound.domain.push_back({});
    s.set_lse(r, lse);
  }
  return s;
}

}  // namespace flashproof
