// What a declaration leaves free, decided: how far, and which way, each exponential, logarithm, reciprocal and tanh errs
// within its declared error. Everything else of a declaration has one meaning.
#pragma once

#include <cstdint>

namespace flashproof {

enum class Lean : std::uint8_t {
  nearest,  // the f32 number next to the exact value
  up,       // as far up as declared
  down,
  random,   // uniform within the declared error
  extreme,  // all of the declared error, either way by chance
  aligned,  // all of it, the way that moves the output of `column` up: an exponential of key j by the sign of v_j − o
  opposed,  // the way that moves it down
};

/// Functions of a kernel's library, f32 to f32: where they are given, nothing is free and the model's output is the kernel's,
/// bit by bit.
struct Functions {
  float (*exp)(float);
  float (*exp2)(float);
  float (*log)(float);
  float (*log2)(float);
};

struct Roundings {
  Lean lean = Lean::nearest;
  std::uint64_t seed = 0;                // of random and extreme
  std::int64_t column = 0;               // of aligned and opposed, modulo the width
  const Functions* functions = nullptr;  // instead of a lean, for exponentials and logarithms
};

}  // namespace flashproof
