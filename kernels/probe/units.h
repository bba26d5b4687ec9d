// Matrix instructions: what one step D = c + Σ a_k b_k does, asked with constructed vectors, then compared bit for bit
// with the block model (reference/model/block_fma.h) on random ones. README.md says what each vector shows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "reference/bound/declare/profile.h"
#include "reference/problem/formats.h"

namespace flashproof::probe {

inline constexpr int kMostProducts = 32;

struct Unit {
  std::string_view name;  // "mma.m16n8k16.f16"
  Format inputs;          // f32: tf32
  int products;           // of one instruction
  bool warpgroup;         // wgmma, else mma.sync
};
inline constexpr Unit kUnits[] = {
    {"mma.m16n8k16.f16", Format::f16, 16, false},    {"mma.m16n8k16.bf16", Format::bf16, 16, false},
    {"mma.m16n8k8.tf32", Format::f32, 8, false},     {"mma.m16n8k32.e4m3", Format::e4m3fn, 32, false},
    {"mma.m16n8k32.e5m2", Format::e5m2, 32, false},  {"mma.m8n8k4.f64", Format::f64, 4, false},
    {"wgmma.m64n8k16.f16", Format::f16, 16, true},   {"wgmma.m64n8k16.bf16", Format::bf16, 16, true},
    {"wgmma.m64n8k8.tf32", Format::f32, 8, true},    {"wgmma.m64n8k32.e4m3", Format::e4m3fn, 32, true},
    {"wgmma.m64n8k32.e5m2", Format::e5m2, 32, true},
};

/// The bits of one step's operands; c and the result are f32, of the f64 unit f64.
struct Step {
  std::uint64_t a[kMostProducts] = {}, b[kMostProducts] = {}, c = 0;
};
struct StepResult {
  std::uint64_t d;
  std::uint32_t ran;      // 1: the device has the instruction
  std::uint32_t uniform;  // 1: every element of the tile, given the same operands, had the same bits
};

/// Runs steps on a unit; tests put a wrong one in its place.
using Runner = std::function<std::vector<StepResult>(const Unit& unit, std::span<const Step> steps)>;

/// What the unit does. `present` is false, and nothing else is said, where the device lacks it.
struct UnitVerdict {
  bool present = false;
  UnitProfile profile;
};
UnitVerdict probe_unit(const Unit& unit, const Runner& run, std::uint64_t seed, int random_steps);

}  // namespace flashproof::probe
