// Small random changes of a case's raw entries, in log-magnitude and sign, as a pure function of a number: a case found by
// a search is its recipe and the list of the changes that helped, not its data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

/// `seed` decides what is changed and how. Rows and columns of an output do not see each other's inputs (q, bias, x, o
/// and lse of a row; v of a column), so one run tries many: most changes copy the parent's `row` or `column` over the
/// others and change each copy in its own way.
struct Mutation {
  std::uint32_t seed = 0;
  std::int32_t row = 0, column = 0;

  bool operator==(const Mutation&) const = default;
};

/// In `column` of a change of a gradient's case: d_out is changed, and not the forward problem (Origin::make).
inline constexpr std::int32_t kChangesDOut = 1 << 30;

/// Of a gradient d_out alone: its o and lse are those of its forward problem. Finite entries stay finite, and entries that are not finite stay what they are. Integers and + − × ÷ only, so the
/// result is the same bits on every machine. `problem` is valid and so is the result; row and column are taken modulo the
/// extents.
void mutate(Problem& problem, const Mutation& mutation);

/// "seed:row:column" with spaces between, and back; "" is no mutation. Throws UsageError on any other text, for numbers
/// beyond 32 bits (31 for row and column) and for more than kMostMutations.
std::string to_text(const std::vector<Mutation>& mutations);
std::vector<Mutation> parse_mutations(std::string_view text);
inline constexpr std::size_t kMostMutations = 400;

}  // namespace flashproof
