#include "kernels/ptx/translate/atomic_sum.h"

#include <bit>
#include <cmath>

#include "reference/problem/formats.h"

namespace flashproof::ptx {
namespace {

/// Of two NaN global memory keeps the operand, as it is, shared memory what was there, quiet: measured on an H100.
std::uint64_t sum_f64(std::uint64_t old, std::uint64_t operand, bool is_global) {
  const auto is_nan = [](std::uint64_t x) { return std::isnan(std::bit_cast<double>(x)); };
  if (is_global && is_nan(operand)) return operand;
  if (is_nan(old)) return is_global ? old : old | 1ULL << 51;
  if (is_nan(operand)) return operand | 1ULL << 51;
  const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(operand);
  return std::isnan(sum) ? 0xfff8000000000000 : std::bit_cast<std::uint64_t>(sum);  // as Floats::quiet()
}

std::uint64_t sum_f32(std::uint64_t a, std::uint64_t b, bool flush) {
  const auto value = [&](auto x) {
    const auto bits = static_cast<std::uint32_t>(x);
    return std::bit_cast<float>(flush && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
  };
  const float sum = value(a) + value(b);
  return std::isnan(sum) ? 0x7fffffff : std::bit_cast<std::uint32_t>(value(std::bit_cast<std::uint32_t>(sum)));
}

/// The sum in f64 is exact, or what it lost is far below half a unit of the larger operand, which has 16 bits itself.
std::uint64_t sum_half(Format format, std::uint64_t a, std::uint64_t b) {
  return encode(format, decode(format, a & 0xffff) + decode(format, b & 0xffff));
}

}  // namespace

std::uint64_t atomic_sum(const Site& site, bool is_global, std::uint64_t old, std::uint64_t operand) {
  const auto operation = static_cast<AtomicOperation>(site.operation);
  if (operation == AtomicOperation::add_f64) return sum_f64(old, operand, is_global);
  if (operation == AtomicOperation::add_f32) return sum_f32(old, operand, is_global);
  const Format format = operation == AtomicOperation::add_f16 ? Format::f16 : Format::bf16;
  const std::uint64_t low = sum_half(format, old, operand);
  return site.bytes == 2 ? low : low | sum_half(format, old >> 16, operand >> 16) << 16;
}

}  // namespace flashproof::ptx
