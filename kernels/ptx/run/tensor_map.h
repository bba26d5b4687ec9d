// Tensor maps: what cuTensorMapEncodeTiled makes of its arguments, in a form of our own, and the boxes that copies take by them (CUDA
// driver API, "Tensor Map Object Management"; PTX ISA, "Tensors").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace flashproof::ptx {

inline constexpr std::uint32_t kMostAxes = 5;

/// Numbered as CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion and CUtensorMapFloatOOBfill are.
enum class TensorType : std::uint32_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };
enum class Interleave : std::uint32_t { none, bytes_16, bytes_32 };
enum class Swizzle : std::uint32_t { none, bytes_32, bytes_64, bytes_128 };
enum class Promotion : std::uint32_t { none, bytes_64, bytes_128, bytes_256 };
enum class Fill : std::uint32_t { zero, nan };

/// The arguments of cuTensorMapEncodeTiled: of each axis from the innermost on.
struct TiledTensor {
  TensorType type = TensorType::f16;
  std::uint32_t rank = 1;
  void* address = nullptr;
  std::array<std::uint64_t, kMostAxes> sizes{};
  std::array<std::uint64_t, kMostAxes - 1> strides{};  // bytes, of axis 1 on
  std::array<std::uint32_t, kMostAxes> box{};
  std::array<std::uint32_t, kMostAxes> steps{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::none;
  Fill fill = Fill::zero;

  std::uint64_t element() const;  // bytes
  /// How many of the box there are along an axis.
  std::uint64_t count(std::uint32_t axis) const {
    return axis == 0 ? box[0] : (box[axis] + steps[axis] - 1) / steps[axis];
  }
  std::uint64_t box_bytes() const;
};

/// As a kernel gets it: 128 bytes, whose address is a multiple of 64.
struct TensorMap {
  std::array<std::byte, 128> bytes{};
};
inline constexpr std::uint64_t kMapAlign = 64;

/// Throws UsageError that names the argument, for what cuTensorMapEncodeTiled refuses and what is not known here: interleaving, NaN as
/// fill, types that round.
TensorMap encode_tiled(const TiledTensor& tensor);
/// Nothing for bytes that encode_tiled() has not made.
std::optional<TiledTensor> decode(const TensorMap& map);

/// Where 16 bytes of shared memory lie: bits 4 to 6 of the address, as many as the swizzle has, exclusive or those three further up.
std::uint64_t swizzled(std::uint64_t address, Swizzle swizzle);

/// A part of a box that lies side by side in both memories. `global` is null where the box lies outside of the tensor.
struct BoxPart {
  std::uint64_t shared;
  std::byte* global;
  std::uint64_t bytes;
};
/// The parts of the box that starts at these elements, in shared memory at `shared`.
void for_each_part(const TiledTensor& tensor, std::span<const std::int32_t> start, std::uint64_t shared,
                   const std::function<void(const BoxPart&)>& take);

}  // namespace flashproof::ptx
