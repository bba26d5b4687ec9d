#include "kernels/ptx/run/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kMark = 0x70616d2d72736e74;  // of what encode_tiled() has made
// The second word stays empty: CUTLASS 4 clears bit 21 of it in maps of small tensors where the driver is 13.1 or older
// (include/cute/atom/copy_traits_sm90_tma.hpp).
constexpr std::size_t kFirst = 2 * sizeof kMark;

void check(const std::string& what, std::uint64_t value, std::uint64_t least, std::uint64_t most,
           std::uint64_t multiple = 1) {
  if (value >= least && value <= most && value % multiple == 0) return;
  throw UsageError(fmt::format("tensor map: {}: {}, legal: {} to {}{}", what, value, least, most,
                               multiple == 1 ? "" : fmt::format(", a multiple of {}", multiple)));
}

std::uint64_t swizzle_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : 16ULL << static_cast<std::uint32_t>(swizzle);
}

/// The bytes of a row of the box that lie in the tensor, [low, high).
struct Inside {
  std::int64_t low = 0, high = 0;
};

Inside inside_of(const TiledTensor& tensor, std::int64_t first) {
  const auto element = static_cast<std::int64_t>(tensor.element()), size = static_cast<std::int64_t>(tensor.sizes[0]);
  const std::int64_t box = tensor.box[0];
  const std::int64_t low = std::clamp<std::int64_t>(-first, 0, box),
                     high = std::clamp<std::int64_t>(size - first, 0, box);
  return {low * element, std::max(low, high) * element};
}

/// A row of the box, in pieces that swizzling leaves together.
void take_row(const TiledTensor& tensor, std::uint64_t shared, std::uint64_t row, Inside inside,
              const std::function<void(const BoxPart&)>& take) {
  const auto all = static_cast<std::int64_t>(tensor.box[0] * tensor.element());
  const std::int64_t chunk = tensor.swizzle == Swizzle::none ? all : 16;
  for (std::int64_t at = 0; at < all; at += chunk) {
    const std::int64_t end = at + chunk, low = std::clamp(inside.low, at, end), high = std::clamp(inside.high, at, end);
    const std::uint64_t place = swizzled(shared + static_cast<std::uint64_t>(at), tensor.swizzle);
    for (const auto& [from, to, is_inside] :
         {std::tuple{at, low, false}, std::tuple{low, high, true}, std::tuple{high, end, false}}) {
      if (from == to) continue;
      const std::uint64_t global = is_inside ? row + static_cast<std::uint64_t>(from) : 0;
      take({place + static_cast<std::uint64_t>(from - at),
            reinterpret_cast<std::byte*>(global),  // NOLINT(performance-no-int-to-ptr): checked by who accesses it
            static_cast<std::uint64_t>(to - from)});
    }
  }
}

}  // namespace

std::uint64_t swizzled(std::uint64_t address, Swizzle swizzle) {
  return swizzle == Swizzle::none ? address : address ^ (address >> 3 & (swizzle_bytes(swizzle) - 16));
}

std::uint64_t TiledTensor::element() const {
  switch (type) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
    default:
      return 4;
  }
}

std::uint64_t TiledTensor::box_bytes() const {
  std::uint64_t bytes = element();
  for (std::uint32_t axis = 0; axis < rank; ++axis) bytes *= count(axis);
  return bytes;
}

TensorMap encode_tiled(const TiledTensor& tensor) {
  check("data type", static_cast<std::uint32_t>(tensor.type), 0, static_cast<std::uint32_t>(TensorType::bf16));
  check("rank", tensor.rank, 1, kMostAxes);
  check("interleave", static_cast<std::uint32_t>(tensor.interleave), 0, 0);
  check("swizzle", static_cast<std::uint32_t>(tensor.swizzle), 0, static_cast<std::uint32_t>(Swizzle::bytes_128));
  check("L2 promotion", static_cast<std::uint32_t>(tensor.promotion), 0,
        static_cast<std::uint32_t>(Promotion::bytes_256));
  check("fill", static_cast<std::uint32_t>(tensor.fill), 0, 0);
  check("address", reinterpret_cast<std::uint64_t>(tensor.address), 1, UINT64_MAX, 16);
  for (std::uint32_t axis = 0; axis < tensor.rank; ++axis) {
    check(fmt::format("size {}", axis), tensor.sizes[axis], 1, 1ULL << 32);
    check(fmt::format("box {}", axis), tensor.box[axis], 1, 256);
    check(fmt::format("element stride {}", axis), tensor.steps[axis], 1, 8);
    if (axis > 0) check(fmt::format("stride {}", axis), tensor.strides[axis - 1], 16, (1ULL << 40) - 16, 16);
  }
  const std::uint64_t row = tensor.box[0] * tensor.element(), span = swizzle_bytes(tensor.swizzle);
  check("bytes of box 0", row, 16, span == 0 ? 256 * tensor.element() : span, 16);
  TensorMap map;
  std::memcpy(map.bytes.data(), &kMark, sizeof kMark);
  std::byte* at = map.bytes.data() + kFirst;
  const auto put = [&](auto value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  };
  put(reinterpret_cast<std::uint64_t>(tensor.address));
  for (const std::uint64_t stride : tensor.strides) put(stride);
  for (std::uint32_t axis = 0; axis < kMostAxes; ++axis) {
    put(static_cast<std::uint32_t>(tensor.sizes[axis] - 1));
    put(static_cast<std::uint16_t>(tensor.box[axis]));
    put(static_cast<std::uint8_t>(tensor.steps[axis]));
  }
  put(static_cast<std::uint8_t>(tensor.type));
  put(static_cast<std::uint8_t>(tensor.rank));
  put(static_cast<std::uint8_t>(tensor.swizzle));
  return map;
}

std::optional<TiledTensor> decode(const TensorMap& map) {
  const std::byte* at = map.bytes.data();
  const auto get = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  if (get(std::uint64_t{}) != kMark) return std::nullopt;
  at = map.bytes.data() + kFirst;
  TiledTensor tensor;
  tensor.address = reinterpret_cast<void*>(get(std::uint64_t{}));  // NOLINT(performance-no-int-to-ptr): as encoded
  for (std::uint64_t& stride : tensor.strides) stride = get(stride);
  for (std::uint32_t axis = 0; axis < kMostAxes; ++axis) {
    tensor.sizes[axis] = std::uint64_t{get(std::uint32_t{})} + 1;
    tensor.box[axis] = get(std::uint16_t{});
    tensor.steps[axis] = get(std::uint8_t{});
  }
  tensor.type = TensorType{get(std::uint8_t{})};
  tensor.rank = get(std::uint8_t{});
  tensor.swizzle = Swizzle{get(std::uint8_t{})};
  try {
    if (encode_tiled(tensor).bytes != map.bytes) return std::nullopt;  // bytes that encode_tiled did not make
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return tensor;
}

void for_each_part(const TiledTensor& tensor, std::span<const std::int32_t> start, std::uint64_t shared,
                   const std::function<void(const BoxPart&)>& take) {
  const std::uint64_t row_bytes = tensor.box[0] * tensor.element(), rows = tensor.box_bytes() / row_bytes;
  const Inside inside = inside_of(tensor, start[0]);
  for (std::uint64_t row = 0; row < rows; ++row) {
    bool is_inside = true;
    std::uint64_t place = reinterpret_cast<std::uint64_t>(tensor.address) +
                          static_cast<std::uint64_t>(start[0]) * tensor.element();  // modulo 2^64
    std::uint64_t rest = row;
    for (std::uint32_t axis = 1; axis < tensor.rank; ++axis) {
      const std::int64_t at = start[axis] + static_cast<std::int64_t>(rest % tensor.count(axis) * tensor.steps[axis]);
      rest /= tensor.count(axis);
      is_inside &= at >= 0 && at < static_cast<std::int64_t>(tensor.sizes[axis]);
      if (is_inside) place += static_cast<std::uint64_t>(at) * tensor.strides[axis - 1];
    }
    take_row(tensor, shared + row * row_bytes, place, is_inside ? inside : Inside{}, take);
  }
}

}  // namespace flashproof::ptx
