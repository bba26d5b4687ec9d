// Every instruction of instructions.h by its name, for tests and checks.
#pragma once

#include <span>

#include "kernels/special_functions/instructions.h"

namespace flashproof::special {

struct Instruction {
  std::string_view name;  // in PTX
  int bits;               // of its registers, 16 or 32; both halves of a packed one count
  std::uint32_t (*model)(const Tables& tables, std::uint32_t input);
};

inline constexpr Instruction kInstructions[] = {
#define FP_ROW_32(type, ptx, function) \
  {ptx, 32, [](const Tables& t, std::uint32_t x) -> std::uint32_t { return function(t, x); }},
#define FP_ROW_16(type, ptx, function) \
  {ptx, 16,                            \
   [](const Tables& t, std::uint32_t x) -> std::uint32_t { return function(t, static_cast<std::uint16_t>(x)); }},
    FP_SPECIAL_F32(FP_ROW_32) FP_SPECIAL_PACKED(FP_ROW_32) FP_SPECIAL_PACKED_SM_90(FP_ROW_32) FP_SPECIAL_16(FP_ROW_16)
        FP_SPECIAL_16_SM_90(FP_ROW_16)
#undef FP_ROW_32
#undef FP_ROW_16
};

/// Null if there is none of that name.
constexpr const Instruction* find_instruction(std::string_view name) {
  for (const Instruction& instruction : kInstructions) {
    if (instruction.name == name) return &instruction;
  }
  return nullptr;
}

/// A binade whose outputs, with the others of its unit, determine the unit's table.
struct Binade {
  std::string_view instruction;
  int exponent;
  constexpr std::uint32_t first_input() const { return static_cast<std::uint32_t>(exponent + 127) << 23; }
};
inline constexpr std::uint32_t kBinadeSize = 1U << 23;
inline constexpr Binade kBinades[] = {
    {"rcp.approx.ftz.f32", 0},  {"rsqrt.approx.ftz.f32", 0}, {"rsqrt.approx.ftz.f32", 1}, {"sqrt.approx.ftz.f32", 0},
    {"sqrt.approx.ftz.f32", 1}, {"ex2.approx.ftz.f32", 0},   {"lg2.approx.ftz.f32", -1},  {"lg2.approx.ftz.f32", 0},
    {"tanh.approx.f32", -8},    {"tanh.approx.f32", -7},     {"tanh.approx.f32", -6},     {"tanh.approx.f32", -5},
    {"tanh.approx.f32", -4},    {"tanh.approx.f32", -3},     {"tanh.approx.f32", -2},     {"tanh.approx.f32", -1},
    {"tanh.approx.f32", 0},     {"tanh.approx.f32", 1},      {"tanh.approx.f32", 2}};

}  // namespace flashproof::special
