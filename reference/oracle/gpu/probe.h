// Does the device's fp64 matrix instruction compute as the radii assume? Tried on constructed and random tiles:
//   one product per output: c + a·b rounded to nearest once, or the product first and then the sum, bit for bit; ties to
//     even, subnormals kept
//   integers whose sums fit: exact (the certificate of exactness)
//   16 products just below one unit in the last place of c: within the any-order bound 17 u Σ; truncation loses 32 u Σ
//   random tiles, also with cancellation: within the same bound
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace flashproof::gpu {

/// One 16 x 8 tile: c + a·b with 16 products per element; row-major.
struct ProbeTile {
  double a[16][16], b[16][8], c[16][8];
};
struct ProbeResult {
  double d[16][8];
};
/// What is probed; tests put a wrong one in its place.
using MultiplyAdd = std::function<std::vector<ProbeResult>(std::span<const ProbeTile>)>;

/// The instruction that the attention kernel uses.
std::vector<ProbeResult> device_multiply_add(std::span<const ProbeTile> tiles);

/// What is wrong with it; empty if nothing is.
std::string probe_failure(const MultiplyAdd& multiply_add);

}  // namespace flashproof::gpu
