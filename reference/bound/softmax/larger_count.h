// How many of a row's numbers are larger than each of them.
#pragma once

#include <span>
#include <vector>

namespace flashproof::bound {

/// larger[i]: how many of `values` are larger than values[i]. They are f32 numbers or infinities, as the inputs of every storage format
/// are, no NaN: throws std::invalid_argument for another double. In time linear in their number.
std::vector<int> larger_count(std::span<const double> values);

}  // namespace flashproof::bound
