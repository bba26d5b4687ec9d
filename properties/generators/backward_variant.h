// Shapes and features of a gradient case drawn together: a covering array. Every two levels of two dimensions stand together in
// one row of it, so that a fault that needs a wide head and a group, or a window and an odd number of tiles, has a case. The
// key `variant` of a backward line names a row, 1 to gradient_variants(); rows beyond begin again with other numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/random.h"

namespace flashproof {

/// A dimension and its levels, as a reader names them.
struct VariantDimension {
  std::string_view name;
  std::vector<std::string_view> levels;
};
const std::vector<VariantDimension>& variant_dimensions();

/// How many rows it takes, and a row: one level per dimension.
int gradient_variants();
const std::vector<int>& variant_levels(int variant);

/// The keys of the forward problem's shape that the row says: b, hq, hk, sq, sk, d, dv, causal, layout.
std::map<std::string, std::string> variant_keys(int variant);
/// Window, bias, ALiBi slopes and lengths into the forward problem, where it has none; they are drawn from `random`. A bias that
/// the family drew and that hides nothing gives way to what the row says: half of the kernels refuse one.
void add_variant_features(int variant, AttentionProblem& problem, Random& random);
/// The format of o beside q of this format, and the power of two that multiplies dO.
Format variant_o_format(int variant, Format q);
int variant_d_out_exponent(int variant);

}  // namespace flashproof
