#include "kernels/ptx/map/bound_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

constexpr std::int64_t kMostBehind = std::int64_t{1} << 40;  // elements from the first: no tensor has as many

/// From the first byte of a tensor to the last, whatever the strides leave out between.
Array array_of(const TensorName& name, const flashproof_tensor& tensor) {
  std::int64_t low = 0, high = 1;  // elements
  for (int axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.shape[axis] == 0) return {nullptr, 0, name.is_output, std::string(name.name)};
    const std::int64_t last = (tensor.shape[axis] - 1) * tensor.strides[axis];
    (last < 0 ? low : high) += last;
  }
  const std::int64_t bytes = tensor.dtype.bits / 8;
  return {static_cast<std::byte*>(flashproof_data(&tensor)) + low * bytes,
          static_cast<std::uint64_t>((high - low) * bytes), name.is_output, std::string(name.name)};
}

/// Bits of a number, little endian. Kind 'b': an integer of either sign.
std::uint64_t bits_of(const Expression& expression, Type type, const flashproof_call& call) {
  if (type.kind == 'f') {
    const double value = expression.value(call).real();
    if (type.bits == 64) return std::bit_cast<std::uint64_t>(value);
    const auto single = static_cast<float>(value);
    if (!std::isfinite(single))
      throw UsageError(fmt::format("\"{}\" = {}: beyond the range of f32", expression.text(), value));
    return std::bit_cast<std::uint32_t>(single);
  }
  using Limits = std::numeric_limits<std::int64_t>;
  const bool wide = type.bits == 64;
  const std::int64_t half = wide ? 0 : std::int64_t{1} << (type.bits - 1);
  const std::int64_t least = type.kind == 'u' ? 0 : wide ? Limits::min() : -half;
  const std::int64_t most = wide ? Limits::max() : type.kind == 's' ? half - 1 : 2 * half - 1;
  return static_cast<std::uint64_t>(expression.whole(call, least, most));
}

/// Where so many elements of a tensor end, and the tensor among the arrays; 0 of one that is not there.
std::uint64_t point_to(const TensorName& name, std::int64_t elements, const flashproof_call& call,
                       std::vector<Array>& arrays) {
  const flashproof_tensor* tensor = name.of(call);
  if (tensor == nullptr) return 0;
  if (std::ranges::find(arrays, name.name, &Array::name) == arrays.end()) arrays.push_back(array_of(name, *tensor));
  return reinterpret_cast<std::uint64_t>(flashproof_data(tensor)) +
         static_cast<std::uint64_t>(elements * (tensor->dtype.bits / 8));
}

/// The same of bytes of scratch memory, which begins at `offset`; 0 where the call has none.
std::uint64_t point_to(const Scratch& scratch, std::int64_t offset, std::int64_t bytes, const flashproof_call& call,
                       std::vector<Array>& arrays) {
  if (call.workspace == nullptr) return 0;
  std::byte* at = static_cast<std::byte*>(call.workspace) + offset;
  if (std::ranges::find(arrays, scratch.name, &Array::name) == arrays.end()) {
    arrays.push_back({at, static_cast<std::uint64_t>(scratch.bytes.value(call).whole()), true, scratch.name});
  }
  return reinterpret_cast<std::uint64_t>(at) + static_cast<std::uint64_t>(bytes);
}

TensorType type_of(flashproof_dtype dtype) {
  if (dtype.bits == 8) return TensorType::u8;
  if (dtype.bits == 16) return dtype.code == FLASHPROOF_BFLOAT ? TensorType::bf16 : TensorType::f16;
  const bool is_float = dtype.code == FLASHPROOF_FLOAT;
  if (dtype.bits == 64) return is_float ? TensorType::f64 : TensorType::s64;
  return is_float ? TensorType::f32 : TensorType::s32;
}

/// The map of a tensor, zeros where the call has none. Of a call without data, a trial, only the expressions are looked at.
TensorMap tensor_map_of(const TensorName& name, const MapArgument& given, const flashproof_call& call,
                        std::vector<Array>& arrays) {
  const flashproof_tensor* tensor = name.of(call);
  if (tensor == nullptr) return {};
  const auto rank = static_cast<std::size_t>(given.shape.empty() ? tensor->ndim : static_cast<int>(given.shape.size()));
  if (rank != given.box.size())
    throw UsageError(fmt::format("box: {} axes, legal: {}, as {} has", given.box.size(), rank, name.name));
  TiledTensor tiled;
  tiled.type = type_of(tensor->dtype);
  tiled.rank = static_cast<std::uint32_t>(rank);
  tiled.swizzle = given.swizzle;
  for (std::size_t i = 0; i < rank; ++i) {  // from the outermost axis on
    const std::size_t axis = rank - 1 - i;
    const bool is_own = given.shape.empty();
    const std::int64_t size = is_own ? tensor->shape[i] : given.shape[i].whole(call, 0, kMostBehind),
                       stride = is_own ? tensor->strides[i] : given.strides[i].whole(call, 0, kMostBehind);
    tiled.box[axis] = static_cast<std::uint32_t>(given.box[i].whole(call, 0, INT32_MAX));
    tiled.sizes[axis] = static_cast<std::uint64_t>(size);
    if (axis > 0) {
      tiled.strides[axis - 1] = static_cast<std::uint64_t>(stride) * (tensor->dtype.bits / 8);
    } else if (stride != 1) {
      throw UsageError(fmt::format("stride of the last axis: {}, legal: 1", stride));
    }
  }
  tiled.address = flashproof_data(tensor);
  if (tiled.address == nullptr) return {};
  if (std::ranges::find(arrays, name.name, &Array::name) == arrays.end()) arrays.push_back(array_of(name, *tensor));
  return encode_tiled(tiled);
}

Dim dim_of(const std::string& what, const std::array<Expression, 3>& sizes, const std::array<std::uint32_t, 3>& most,
           const flashproof_call& call) {
  std::array<std::uint32_t, 3> dim{};
  for (std::size_t i = 0; i < 3; ++i) {
    try {
      dim.at(i) = static_cast<std::uint32_t>(sizes.at(i).whole(call, 1, most.at(i)));
    } catch (const UsageError& e) {
      throw UsageError(what + ": " + e.what());
    }
  }
  return {dim[0], dim[1], dim[2]};
}

}  // namespace

std::vector<std::int64_t> scratch_offsets(const Map& map, const flashproof_call& call) {
  std::vector<std::int64_t> offsets = {0};
  for (const Scratch& scratch : map.scratch) {
    try {
      const std::int64_t bytes = scratch.bytes.whole(call, 0, kMaxScratchBytes - kScratchAlign - offsets.back());
      offsets.push_back(offsets.back() + (bytes + kScratchAlign - 1) / kScratchAlign * kScratchAlign);
    } catch (const UsageError& e) {
      throw UsageError(fmt::format("scratch: {}: {}", scratch.name, e.what()));
    }
  }
  return offsets;
}

BoundLaunch::BoundLaunch(const Map& map, const MappedLaunch& mapped, std::int64_t parameter_bytes,
                         std::span<const std::int64_t> scratch, const flashproof_call& call)
    : parameters(static_cast<std::size_t>(parameter_bytes)) {
  launch.grid = dim_of("grid", mapped.grid, kMostBlocks, call);
  launch.block = dim_of("block", mapped.block, kMostThreads, call);
  try {
    launch.dynamic_shared_bytes = static_cast<std::uint32_t>(mapped.shared.whole(call, 0, kMaxSharedBytes));
  } catch (const UsageError& e) {
    throw UsageError(std::string("shared: ") + e.what());
  }
  for (const Piece& piece : mapped.pieces) {
    std::uint64_t bits = 0;
    std::size_t bytes = 8;
    if (piece.kind == Piece::Kind::bytes) {
      std::ranges::copy(piece.bytes, parameters.begin() + piece.offset);
      continue;
    }
    try {
      if (piece.kind == Piece::Kind::tensor_map) {
        const TensorMap made = tensor_map_of(tensor_names(map.problem)[piece.index], piece.map, call, arrays);
        std::ranges::copy(made.bytes, parameters.begin() + piece.offset);
        continue;
      }
      if (piece.kind == Piece::Kind::value) {
        bits = bits_of(piece.expression, piece.type, call);
        bytes = static_cast<std::size_t>(piece.type.bytes());
      } else {
        const auto behind = piece.expression.whole(call, -kMostBehind, kMostBehind);
        bits = piece.kind == Piece::Kind::tensor
                   ? point_to(tensor_names(map.problem)[piece.index], behind, call, arrays)
                   : point_to(map.scratch[piece.index], scratch[piece.index], behind, call, arrays);
      }
    } catch (const UsageError& e) {
      throw UsageError(piece.place + ": " + e.what());
    }
    std::memcpy(parameters.data() + piece.offset, &bits, bytes);
  }
  launch.parameters = parameters;
  launch.arrays = arrays;
}

}  // namespace flashproof::ptx
