// Test support: what the draws of problems and declarations share.
#pragma once

#include <initializer_list>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::attack {

template <class T>
T any_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[random.integer(0, static_cast<std::int64_t>(choices.size()) - 1)];
}

/// Rounded into the tensor's format; what lies beyond becomes its largest number.
inline void put(Tensor& tensor, std::int64_t at, double value) {
  tensor.set_bits(at, encode(tensor.format, value, Overflow::saturate));
}
/// The problems of extreme(), attack_extreme_problems.cc.
Problem extreme_problem(Random& random, ProblemKind kind);

}  // namespace flashproof::attack
