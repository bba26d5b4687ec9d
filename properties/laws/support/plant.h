// NaN and +inf planted where rows see them, and what every element of the output must be then.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof {

enum class Expect : std::uint8_t {
  same,     // the bits that it had
  nan,      // NaN
  nothing,  // of what the row does not see: 0 or NaN
  free,     // anything
};

/// What was put into one element of a tensor of the problem, and into the elements after it.
struct Plant {
  std::string_view tensor;  // x, lse, o, l, q, k, v, bias
  std::vector<std::int64_t> index;
  double value = 0;
  std::int64_t count = 1;        // of elements: along the axis of the keys, from `index` on
  bool among_minus_inf = false;  // every other score of the row was made −inf
};
/// "nan planted at x[3,2] and 4 more, among -inf".
std::string to_string(const Plant& plant);

struct Planted {
  Problem problem;
  std::vector<Expect> o;    // row-major
  std::vector<Expect> lse;  // per row
  std::vector<Plant> plants;
  std::vector<std::int32_t> seen;  // per row: the plant that makes it, or a column of it, NaN; −1: none

  Planted(Problem planted, const OutputShape& shape)
      : problem(std::move(planted)),
        o(static_cast<std::size_t>(shape.rows * shape.width), Expect::same),
        lse(static_cast<std::size_t>(shape.rows), Expect::same),
        seen(static_cast<std::size_t>(shape.rows), -1) {}
  /// Index of the plant in `plants`.
  std::int32_t note(Plant plant) {
    plants.push_back(std::move(plant));
    return static_cast<std::int32_t>(plants.size()) - 1;
  }
  void set_row(std::int64_t row, Expect expect) {
    const auto width = static_cast<std::int64_t>(o.size() / lse.size());
    std::fill_n(o.begin() + row * width, width, expect);
    lse[static_cast<std::size_t>(row)] = expect;
  }
};

/// How many ways of planting there are; every row, or every sequence and kv head, has them in turn.
inline constexpr int kPlants = 6;

/// Row r has plant (r + turn) mod kPlants: none, one NaN, a chunk of NaN, a NaN beside −inf alone, +inf, all NaN.
Planted planted(const SoftmaxProblem& p, std::int64_t turn, Random& random);
/// `in_domain`, here and below: rows whose weights the kernel's arithmetic computes, one per row of the output. Beyond it a
/// score may be −inf as computed, and a value of no weight need not be looked at.
/// Row r: none, a NaN lse, one beside −inf alone, +inf, a NaN in one column of o, in l (without l: every lse). Without
/// `infinities` NaN in place of +inf.
Planted planted(const MergeProblem& p, std::int64_t turn, Random& random, bool infinities,
                std::span<const std::uint8_t> in_domain);
/// Sequence and kv head g: in q of one row per head, in k of one key, in k of a chunk, in v of one key and column, and in a
/// bias: a NaN beside −inf alone, +inf. Without a bias the last two are the first two. q, k and v are dense;
/// `isolates`: the contract's isolates_hidden.
Planted planted(const AttentionProblem& p, std::int64_t turn, Random& random, bool isolates,
                std::span<const std::uint8_t> in_domain);

}  // namespace flashproof
