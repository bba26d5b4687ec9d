// The same numbers at other places in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// The same elements, bit for bit, in storage whose axes lie as `order` says, outermost first, and which has room for
/// room[a] more elements along axis a. What is room is 0xff.
Tensor relaid(const Tensor& tensor, std::span<const int> order, std::span<const std::int64_t> room);
/// Row-major and without gaps.
Tensor packed_together(const Tensor& tensor);

}  // namespace flashproof
