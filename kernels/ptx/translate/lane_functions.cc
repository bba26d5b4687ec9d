// Integer operations that vectors have not: LLVM would take 10 to 130 ms for each (translate/emit_integer.cc, emit_bits.cc).
#include <algorithm>
#include <type_traits>

#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideUnsigned = unsigned __int128;

/// The upper half of the product.
template <class T>
T mul_hi(T a, T b) {
  using Product = std::conditional_t<std::is_signed_v<T>, Wide, WideUnsigned>;
  return static_cast<T>(static_cast<Product>(a) * b >> (8 * sizeof(T)));
}

/// The least number by -1, which a processor refuses, is itself with nothing left over. By zero all bits are ones.
template <class T>
T quotient(T a, T b, bool rest) {
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return rest ? 0 : static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
  return rest ? a % b : a / b;
}

/// Of the bytes of b and a, 7 to 0, each nibble of the selector chooses one; its bit 3: that byte's sign in all bits.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t both = static_cast<std::uint64_t>(b) << 32 | a;
  std::uint32_t result = 0;
  for (int k = 0; k < 4; ++k, selector >>= 4) {
    const std::uint32_t byte = both >> (8 * (selector & 7)) & 0xff;
    result |= ((selector & 8) == 0 ? byte : (byte >> 7) * 0xff) << (8 * k);
  }
  return result;
}

/// bfe: so many bits from the place on; signed, those beyond are copies of the highest one. Both count modulo 256.
template <class T>
T field(T a, T place, T count) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  const int from = static_cast<int>(place & 0xff), wanted = static_cast<int>(count & 0xff);
  if (wanted == 0) return 0;
  const bool sign = std::is_signed_v<T> && (static_cast<U>(a) >> std::min(from + wanted - 1, kBits - 1) & 1) != 0;
  const int there = std::min(wanted, std::max(kBits - from, 0));
  if (there == 0) return sign ? static_cast<T>(-1) : 0;
  const U all = ~U{0} >> (kBits - there), bits = static_cast<U>(a) >> from & all;
  return static_cast<T>(sign ? bits | ~all : bits);
}

/// bfi: the lowest bits of a into b.
template <class T>
T inserted(T a, T b, T place, T count) {
  using U = std::make_unsigned_t<T>;
  constexpr int kBits = 8 * sizeof(T);
  const int from = static_cast<int>(place & 0xff), there = std::min(static_cast<int>(count & 0xff), kBits - from);
  if (there <= 0) return b;
  const U mask = ~U{0} >> (kBits - there) << from;
  return static_cast<T>((static_cast<U>(b) & ~mask) | (static_cast<U>(a) << from & mask));
}

/// bmsk: ones from bit a on, b of them; `clamps`: none where a is beyond the word, all that there is room for where b is.
std::uint32_t mask(std::uint32_t a, std::uint32_t b, bool clamps) {
  if (clamps && a >= 32) return 0;
  a &= 31;
  const std::uint32_t from = ~0U << a;
  if (clamps && b >= 32) return from;
  b &= 31;
  return a + b >= 32 ? from : from & ~(~0U << (a + b));
}

template <class T>
void of_lanes(std::int32_t operation, const T* x, T* out) {
  const T *a = x, *b = x + kLanes;
  switch (static_cast<LaneOperation>(operation)) {
    case LaneOperation::mul_hi:
      for (int l = 0; l < kLanes; ++l) out[l] = mul_hi(a[l], b[l]);
      return;
    case LaneOperation::div:
      for (int l = 0; l < kLanes; ++l) out[l] = quotient(a[l], b[l], false);
      return;
    case LaneOperation::rem:
      for (int l = 0; l < kLanes; ++l) out[l] = quotient(a[l], b[l], true);
      return;
    case LaneOperation::permute:
      for (int l = 0; l < kLanes; ++l)
        out[l] = static_cast<T>(permuted(static_cast<std::uint32_t>(a[l]), static_cast<std::uint32_t>(b[l]),
                                         static_cast<std::uint32_t>(b[kLanes + l])));
      return;
    case LaneOperation::field:
      for (int l = 0; l < kLanes; ++l) out[l] = field(a[l], b[l], b[kLanes + l]);
      return;
    case LaneOperation::insert:
      for (int l = 0; l < kLanes; ++l) out[l] = inserted(a[l], b[l], b[kLanes + l], b[2 * kLanes + l]);
      return;
    case LaneOperation::mask_clamp:
    case LaneOperation::mask_wrap:
      for (int l = 0; l < kLanes; ++l)
        out[l] = static_cast<T>(mask(static_cast<std::uint32_t>(a[l]), static_cast<std::uint32_t>(b[l]),
                                     operation == static_cast<int>(LaneOperation::mask_clamp)));
  }
}

}  // namespace

extern "C" void ptx_lanes_u32(std::int32_t operation, const std::uint32_t* operands, std::uint32_t* out) {
  of_lanes(operation, operands, out);
}
extern "C" void ptx_lanes_s32(std::int32_t operation, const std::int32_t* operands, std::int32_t* out) {
  of_lanes(operation, operands, out);
}
extern "C" void ptx_lanes_u64(std::int32_t operation, const std::uint64_t* operands, std::uint64_t* out) {
  of_lanes(operation, operands, out);
}
extern "C" void ptx_lanes_s64(std::int32_t operation, const std::int64_t* operands, std::int64_t* out) {
  of_lanes(operation, operands, out);
}

}  // namespace flashproof::ptx
