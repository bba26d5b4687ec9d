// wgmma on a GPU and in the executor: the same PTX, made here for every type and layout of its matrices, with the same inputs. A case is a
// line of wgmma_sm_90.inc, with a hash of what a GPU gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flashproof::ptx::golden {

struct WgmmaCase {
  std::string type;  // "f16", ...
  int columns;       // of b
  int swizzle;       // bytes, 0: none
  bool a_in_registers;
  bool a_across, b_across;  // elements side by side are not of one row, but of one k: 16-bit types
};
std::vector<WgmmaCase> wgmma_cases();

inline constexpr unsigned kWgmmaThreads = 128;
inline constexpr unsigned kMatrixABytes = 8192, kMatrixBBytes = 32768;
/// Words of the input: both matrices as shared memory holds them, then for each thread four registers of a and 128 sums.
inline constexpr unsigned kWgmmaMatrixWords = (kMatrixABytes + kMatrixBBytes) / 4;
inline constexpr unsigned kWgmmaInputWords = kWgmmaMatrixWords + kWgmmaThreads * (4 + 128);
inline constexpr unsigned kWgmmaOutputWords = kWgmmaThreads * 128;  // the sums that there are, of each thread

/// Offsets of a descriptor.
struct WgmmaStrides {
  int leading, stride;
};
WgmmaStrides wgmma_strides(int swizzle, bool across);

/// A module with the entry "k" of two pointers, to the input and to the output, for one block of kWgmmaThreads: sums = a·b + sums, twice,
/// then sums = sums - a·b.
std::string wgmma_text(const WgmmaCase& what);
/// Of the type: numbers whose products are near one another, among them any pattern.
std::vector<std::uint32_t> wgmma_input(const WgmmaCase& what);
/// "f16 n64 swizzle 128 a registers b across k".
std::string name_of(const WgmmaCase& what);

}  // namespace flashproof::ptx::golden
