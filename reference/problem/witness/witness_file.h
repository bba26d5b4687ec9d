// A witness file field by field, for reading and for writing.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/problem/tensor.h"
#include "reference/problem/witness/safetensors.h"
#include "reference/problem/witness/witness.h"

namespace flashproof {

inline constexpr std::string_view kNotePrefix = "note.";
inline constexpr std::string_view kWitnessVersion = "witness 1";

/// The metadata and tensors of a file, handed out one by one: what is asked for must be there, and what is left over at
/// the end is refused. Everything throws UsageError with one line that names the field.
class WitnessFile {
 public:
  explicit WitnessFile(Safetensors file) : file_(std::move(file)) {}

  bool has(const std::string& key) const { return file_.metadata.contains(key); }
  bool has_tensor(const std::string& name) const { return file_.tensors.contains(name); }

  std::string text(const std::string& key);
  std::vector<std::int64_t> counts(const std::string& key);
  std::vector<std::int32_t> int32s(const std::string& key);
  /// Also negative ones.
  std::vector<std::int32_t> signed_int32s(const std::string& key);
  /// One of two words: true for the first.
  bool either(const std::string& key, std::string_view yes, std::string_view no);
  /// [-]0x<hex>p<exponent>, as C's %a and Python's float.hex write it; the value must be exactly an f32.
  float f32(const std::string& key);
  Tensor tensor(const std::string& name);
  WitnessNotes notes();
  void expect_empty() const;

 private:
  void charge(std::int64_t bytes);

  Safetensors file_;
  std::int64_t storage_ = 0;
};

/// Collects a file; owns the dense bytes until it is formatted.
class Draft {
 public:
  void text(const std::string& key, std::string value) { file_.metadata.emplace(key, std::move(value)); }
  template <class T>
  void list(const std::string& key, const std::vector<T>& values) {
    text(key, fmt::format("{}", fmt::join(values, ",")));
  }
  void tensor(const std::string& name, const Tensor& tensor) {
    const auto& bytes = data_.emplace_back(dense_bytes(tensor));
    file_.tensors.emplace(name, StoredTensor{tensor.format, tensor.shape, bytes});
  }
  void strided(const std::string& name, const Tensor& t) {
    tensor(name, t);
    list("stride." + name, t.stride);
    text("storage." + name, fmt::format("{}", t.storage.size()));
  }
  /// Throws UsageError for a key that is no name.
  void notes(const WitnessNotes& notes);
  std::vector<std::byte> bytes() const { return format_safetensors(file_); }

 private:
  Safetensors file_;
  std::vector<std::vector<std::byte>> data_;  // moving an inner vector keeps its bytes where the spans point
};

}  // namespace flashproof
