// Two outputs of one kernel, bit for bit: the CPU executor's and the GPU's, or its PTX's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

/// Counts over cases; the first difference is that of the lowest case, so merging in any order gives the same row.
struct TwinRow {
  std::uint64_t cases = 0;  // that ran
  std::uint64_t unsupported = 0, elements = 0, equal = 0, faults = 0;
  std::uint64_t first_case = ~std::uint64_t{0};
  std::string first_text;

  /// NaNs count as equal to each other; −0 and +0 do not.
  void compare(const Output& cpu, const Output& cuda);
  /// One of the two produced no output.
  void fault(const std::string& what);
  void merge(const TwinRow& one_case, std::uint64_t case_index);

  bool differing() const { return equal != elements || faults > 0; }
  std::string percent() const;  // "100 %" only if all are equal
  std::string serialize() const;
  static TwinRow deserialize(const std::string& line);

 private:
  void compare(std::string_view name, const Tensor& a, const Tensor& b);
};

}  // namespace flashproof
