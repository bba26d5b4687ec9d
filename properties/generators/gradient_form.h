// What a case of the gradient has beyond its forward problem, as a row of a covering array says it.
#pragma once

#include <cstdint>

#include "reference/problem/backward.h"

namespace flashproof {

struct GradientForm {
  BackwardMode mode = BackwardMode::stage;
  bool other_format = false;  // of o: bf16 beside f32, f32 beside 16 bits
  bool rows_apart = false;    // o and dO with the heads inside the sequence and a gap behind each row; else dense
  bool heads_inside = false;  // lse the same; else dense
  int exponent = 0;           // dO is multiplied by 2^exponent
};

/// Of a family of so many rows: half of them in either mode, the other half in the next round.
inline BackwardMode mode_in_turn(std::uint64_t seed, std::uint64_t rows) {
  return (seed % rows + seed / rows) % 2 == 0 ? BackwardMode::stage : BackwardMode::gradient;
}

}  // namespace flashproof
