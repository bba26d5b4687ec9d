// What validate() is made of. Each throws UsageError with one line that names the argument and its legal range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof::checks {

using Shape = std::vector<std::int64_t>;

/// Formats that a tensor may have: f32; f32, f16 and bf16; those, e4m3fn and e5m2.
enum class Legal : std::uint8_t { f32, storage, with_8_bits };
/// Rank, format, extents, strides and the size of the storage.
void check_tensor(std::string_view name, const Tensor& tensor, std::size_t rank, Legal formats);
/// A tensor without a shape: nothing else may be set.
void check_absent(std::string_view name, const Tensor& tensor);
void check_axis(std::string_view argument, std::int64_t extent, std::int64_t lo, std::int64_t hi);
void check_shape(std::string_view name, const Tensor& tensor, const Shape& expected);
void check_same_format(std::string_view name, const Tensor& tensor, std::string_view other_name, const Tensor& other);
/// The factors come from checked shapes: neither can overflow.
void check_output(std::int64_t rows, std::int64_t width);
/// None, or one in 0..longest for each of `count`.
void check_lengths(std::string_view argument, const std::vector<std::int32_t>& lengths, std::int64_t count,
                   std::int64_t longest);
void check_permutation(std::string_view argument, const std::vector<std::int32_t>& order, std::int64_t count);
void check_plan(const ChunkPlan& plan, std::int64_t length);

}  // namespace flashproof::checks
