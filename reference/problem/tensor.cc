#include "reference/problem/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::byte kGap{0xff};

/// a · b + c, all >= 0; false if it does not fit.
bool multiply_add(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result) && !__builtin_add_overflow(result, c, &result);
}

/// Calls visit(offset) for every element in row-major order.
template <class Visit>
void for_each_offset(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& stride, Visit visit) {
  for (std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t offset = 0;
  while (true) {
    visit(offset);
    std::size_t axis = shape.size();
    while (true) {
      if (axis == 0) return;
      --axis;
      offset += stride[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= shape[axis] * stride[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

std::vector<std::int64_t> dense_stride(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t i = shape.size(); i > 1; --i) {
    if (!multiply_add(stride[i - 1], shape[i - 1], 0, stride[i - 2])) {
      throw UsageError("shape: the number of elements must be below 2^63");
    }
  }
  return stride;
}

std::int64_t storage_bytes(Format format, std::span<const std::int64_t> shape, std::span<const std::int64_t> stride) {
  if (shape.size() != stride.size()) {
    throw UsageError(fmt::format("stride: {} numbers for {} axes", stride.size(), shape.size()));
  }
  bool empty = shape.empty();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) throw UsageError(fmt::format("shape: axis {} is {}, must be 0 or more", i, shape[i]));
    if (stride[i] < 0) throw UsageError(fmt::format("stride: axis {} is {}, must be 0 or more", i, stride[i]));
    empty = empty || shape[i] == 0;
  }
  if (empty) return 0;
  std::int64_t count = 1, last = 0, bytes = 0;
  bool fits = true;
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = multiply_add(count, shape[i], 0, count) && multiply_add(shape[i] - 1, stride[i], last, last);
  }
  const std::int64_t size = bytes_of(format);
  if (!fits || !multiply_add(count, size, 0, bytes) || !multiply_add(last, size, size, bytes)) {
    throw UsageError("shape and stride: the size in bytes must be below 2^63");
  }
  return bytes;
}

Tensor Tensor::dense(Format format, std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> stride = dense_stride(shape);
  return strided(format, std::move(shape), std::move(stride));
}

Tensor Tensor::strided(Format format, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride) {
  Tensor result;
  const std::int64_t bytes = storage_bytes(format, shape, stride);
  result.format = format;
  result.shape = std::move(shape);
  result.stride = std::move(stride);
  result.storage.assign(static_cast<std::size_t>(bytes), kGap);
  return result;
}

std::int64_t Tensor::elements() const {
  if (shape.empty() || std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t result = 1;
  for (std::int64_t extent : shape) result *= extent;
  return result;
}

std::vector<std::byte> dense_bytes(const Tensor& tensor) {
  const std::int64_t size = bytes_of(tensor.format);
  std::vector<std::byte> result(static_cast<std::size_t>(tensor.elements() * size));
  std::byte* to = result.data();
  if (tensor.shape.empty()) return result;
  for_each_offset(tensor.shape, tensor.stride, [&](std::int64_t offset) {
    std::memcpy(to, tensor.storage.data() + offset * size, static_cast<std::size_t>(size));
    to += size;
  });
  return result;
}

Tensor tensor_from_dense(Format format, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride,
                         std::int64_t storage_size, std::span<const std::byte> elements) {
  const std::int64_t needed = storage_bytes(format, shape, stride);
  const std::int64_t size = bytes_of(format);
  if (storage_size < needed || storage_size % size != 0) {
    throw UsageError(
        fmt::format("storage: {} bytes, must be at least {} and a multiple of {}", storage_size, needed, size));
  }
  Tensor result;
  result.format = format;
  result.shape = std::move(shape);
  result.stride = std::move(stride);
  if (static_cast<std::int64_t>(elements.size()) != result.elements() * size) {
    throw UsageError(
        fmt::format("data: {} bytes for {} elements of {} bytes", elements.size(), result.elements(), size));
  }
  result.storage.assign(static_cast<std::size_t>(storage_size), kGap);
  const std::byte* from = elements.data();
  if (!elements.empty()) {
    for_each_offset(result.shape, result.stride, [&](std::int64_t offset) {
      std::memcpy(result.storage.data() + offset * size, from, static_cast<std::size_t>(size));
      from += size;
    });
    from = elements.data();
    for_each_offset(result.shape, result.stride, [&](std::int64_t offset) {
      if (std::memcmp(result.storage.data() + offset * size, from, static_cast<std::size_t>(size)) != 0) {
        throw UsageError("data: elements that share storage through their strides must be equal");
      }
      from += size;
    });
  }
  return result;
}

}  // namespace flashproof
