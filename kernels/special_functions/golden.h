// Hashes of all outputs of a GPU, so that the model is held without one. The inputs of an instruction with a 32-bit
// register fall into classes that can be checked one by one, each with every exponent and every segment in it.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/special_functions/segment.h"

namespace flashproof::special {

/// Of one result; a set's hash is the sum over its inputs, so that the order does not matter.
FP_BOTH constexpr std::uint64_t hash(std::uint32_t input, std::uint32_t output) {
  std::uint64_t z = (std::uint64_t{input} << 32 | output) + 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;  // SplitMix64
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

inline constexpr std::uint32_t kClasses = 128;
inline constexpr std::uint32_t kClassSize = 1U << 25;

/// A class has one of every 128 neighbours: input number `group` < kClassSize, at a place that looks random.
FP_BOTH constexpr std::uint32_t class_input(std::uint32_t class_number, std::uint32_t group) {
  return group << 7 | (((group * 0x9e3779b1U) >> 25) + class_number) % kClasses;
}

/// The hash of each class.
struct GoldenClasses {
  std::string_view instruction;
  std::uint64_t hashes[kClasses];
};
/// All inputs of an instruction with 16-bit registers.
struct GoldenSmall {
  std::string_view instruction;
  std::uint64_t hash;
};
/// The 2^23 inputs from 2^exponent up to its double, with a minus sign or without. Between them they reach every entry of a
/// table with every argument of its quadratic; the other inputs only move the exponent.
struct GoldenBinade {
  std::string_view instruction;
  int exponent;
  std::uint64_t hash;
};

}  // namespace flashproof::special
