// A strided tensor that owns its storage. Storage between the elements (padding, gaps) belongs to no element and is
// filled with 0xff bytes, which is a NaN in every format here: a kernel that reads it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "reference/problem/formats.h"

namespace flashproof {

struct Tensor {
  Format format = Format::f32;
  std::vector<std::int64_t> shape;   // empty = no tensor
  std::vector<std::int64_t> stride;  // in elements, >= 0; 0 (broadcast) is legal for inputs
  std::vector<std::byte> storage;

  /// Row-major and dense, every byte 0xff.
  static Tensor dense(Format format, std::vector<std::int64_t> shape);
  /// With these strides; the storage is just large enough, every byte 0xff.
  static Tensor strided(Format format, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride);

  /// Product of the shape; 0 without one. Right for every shape that storage_bytes() accepts.
  std::int64_t elements() const;
  /// In elements, from the start of the storage. Like bits(), does not check the index against the shape.
  std::int64_t offset(std::initializer_list<std::int64_t> index) const;
  std::uint64_t bits(std::int64_t offset) const;
  void set_bits(std::int64_t offset, std::uint64_t bits);
  /// Exact value of one element.
  double at(std::initializer_list<std::int64_t> index) const { return decode(format, bits(offset(index))); }
  /// Rounds to nearest even into the tensor's format.
  void set(std::initializer_list<std::int64_t> index, double value) { set_bits(offset(index), encode(format, value)); }
  const void* data() const { return storage.data(); }
  void* data() { return storage.data(); }

  bool operator==(const Tensor&) const = default;
};

/// Strides of a row-major dense tensor.
std::vector<std::int64_t> dense_stride(std::span<const std::int64_t> shape);

/// Bytes from the first to behind the last element, 0 if there is none. Throws UsageError for a negative extent or
/// stride, for a stride list of another length, and where the size or the number of elements does not fit in 63 bits.
std::int64_t storage_bytes(Format format, std::span<const std::int64_t> shape, std::span<const std::int64_t> stride);

/// The elements in row-major order without gaps, as a file stores them.
std::vector<std::byte> dense_bytes(const Tensor& tensor);

/// The inverse: a tensor of this layout with `storage_size` bytes, gaps 0xff. Throws UsageError if the storage is too
/// small or `elements` is not the dense size, and where elements that share storage differ.
Tensor tensor_from_dense(Format format, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride,
                         std::int64_t storage_size, std::span<const std::byte> elements);

// ---------------------------------------------------------------------------------------------------------------------

static_assert(std::endian::native == std::endian::little, "elements are read as little-endian integers");

inline std::int64_t Tensor::offset(std::initializer_list<std::int64_t> index) const {
  std::int64_t result = 0;
  const std::int64_t* step = stride.data();
  for (std::int64_t i : index) result += i * *step++;
  return result;
}

inline std::uint64_t Tensor::bits(std::int64_t offset) const {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, storage.data() + offset * static_cast<std::int64_t>(sizeof value), sizeof value);
    return std::uint64_t{value};
  };
  switch (info(format).bits) {
    case 8:
      return read(std::uint8_t{});
    case 16:
      return read(std::uint16_t{});
    case 32:
      return read(std::uint32_t{});
    default:
      return read(std::uint64_t{});
  }
}

inline void Tensor::set_bits(std::int64_t offset, std::uint64_t bits) {
  const auto write = [&]<class T>(T value) {
    std::memcpy(storage.data() + offset * static_cast<std::int64_t>(sizeof value), &value, sizeof value);
  };
  switch (info(format).bits) {
    case 8:
      return write(static_cast<std::uint8_t>(bits));
    case 16:
      return write(static_cast<std::uint16_t>(bits));
    case 32:
      return write(static_cast<std::uint32_t>(bits));
    default:
      return write(bits);
  }
}

}  // namespace flashproof
