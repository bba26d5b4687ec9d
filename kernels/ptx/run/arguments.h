// Arguments of a launch as words of a command line.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "kernels/ptx/run/launch.h"

namespace flashproof::ptx {

/// "64" or "8,2,1". Throws UsageError that names `what`.
Dim parse_dim(const std::string& what, const std::string& text);

/// The parameters of an entry, made of one word each:
///   12, -3, 1.5, 0x1F          a scalar, in the parameter's type
///   hex:0011aaff               the parameter's bytes, as many as it has
///   in:FORMAT:COUNT:FILL       a pointer to an array that is read; FILL: zero, one, iota (0, 1, 2, ...) or random:SEED (in [-1, 1))
///   out:FORMAT:COUNT           a pointer to an array that is written, and printed afterwards
/// FORMAT: f32, s32, u32, s64, u64 or u8.
class Arguments {
 public:
  Arguments(const Entry& entry, const std::vector<std::string>& words);

  std::span<const std::byte> parameters() const { return parameters_; }
  std::span<const Array> arrays() const { return arrays_; }
  /// The arrays written, `most` elements of each at most.
  std::string outputs(std::size_t most) const;

 private:
  struct Data {
    std::string format;
    std::vector<std::byte> bytes;
  };
  void add_array(std::size_t number, const std::string& word, std::int64_t offset);
  std::vector<std::byte> parameters_;
  std::vector<Array> arrays_;
  std::deque<Data> data_;  // of arrays_
};

}  // namespace flashproof::ptx
