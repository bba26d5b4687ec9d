#include "properties/generators/plan.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <utility>

#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr int kMaxIndexed = 20;  // 20! < 2^64 < 21!
constexpr int kMaxEnumerated = 4;

std::uint64_t factorial(int n) {
  std::uint64_t product = 1;
  for (int i = 2; i <= n; ++i) product *= static_cast<std::uint64_t>(i);
  return product;
}

std::vector<std::int32_t> forward(int n) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::int32_t> reverse(int n) {
  std::vector<std::int32_t> order = forward(n);
  std::reverse(order.begin(), order.end());
  return order;
}

// Fisher-Yates with our own integers: std::shuffle is not the same on every standard library.
std::vector<std::int32_t> shuffled(Random& random, int n) {
  std::vector<std::int32_t> order = forward(n);
  for (int i = n - 1; i > 0; --i) {
    const std::int64_t j = random.integer(0, i);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

}  // namespace

std::vector<std::int32_t> permutation(int n, std::uint64_t index) {
  std::vector<std::int32_t> left = forward(n);
  std::vector<std::int32_t> order;
  for (int i = n; i >= 1; --i) {
    const std::uint64_t block = factorial(i - 1);
    const auto at = left.begin() + static_cast<std::ptrdiff_t>(index / block);
    order.push_back(*at);
    left.erase(at);
    index %= block;
  }
  return order;
}

std::vector<std::int32_t> draw_order(Random& random, int n, std::uint64_t index,
                                     const std::optional<std::string>& key) {
  if (key == "forward") return forward(n);
  if (key == "reverse") return reverse(n);
  if (key == "random") return shuffled(random, n);
  if (key) {
    std::uint64_t wanted = 0;
    std::from_chars(key->data(), key->data() + key->size(), wanted);
    if (n > kMaxIndexed) {
      throw UsageError("key order: an index needs at most " + std::to_string(kMaxIndexed) +
                       " chunks and this case has " + std::to_string(n) + "; legal: forward, reverse, random");
    }
    if (wanted >= factorial(n)) {
      throw UsageError("key order: " + *key + " is out of range, " + std::to_string(n) + " chunks have orders 0.." +
                       std::to_string(factorial(n) - 1));
    }
    return permutation(n, wanted);
  }
  if (n <= kMaxEnumerated) return permutation(n, index % factorial(n));
  const std::int64_t dice = random.integer(0, 9);
  if (dice == 0) return forward(n);
  if (dice == 1) return reverse(n);
  return shuffled(random, n);
}

std::vector<std::int32_t> draw_boundaries(Random& random, std::int64_t length, std::int64_t size, bool irregular) {
  std::vector<std::int32_t> boundary{0};
  std::int64_t at = 0;
  while (at < length) {
    at = std::min(length, at + (irregular ? random.integer(1, size) : size));
    boundary.push_back(static_cast<std::int32_t>(at));
  }
  return boundary;
}

std::vector<std::int32_t> draw_cuts(Random& random, std::int64_t length, int n) {
  std::set<std::int32_t> cuts{0, static_cast<std::int32_t>(length)};
  while (static_cast<int>(cuts.size()) < n + 1) cuts.insert(static_cast<std::int32_t>(random.integer(1, length - 1)));
  return {cuts.begin(), cuts.end()};
}

ChunkPlan state_plan(const std::vector<std::int32_t>& order) {
  ChunkPlan plan;
  plan.boundary = forward(static_cast<int>(order.size()) + 1);
  plan.order = order;
  return plan;
}

}  // namespace flashproof
