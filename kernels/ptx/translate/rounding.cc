// Arithmetic rounded towards zero, down or up. Compiled with -frounding-math, so that nothing is computed in another mode.
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/special_functions.h"

// Where the processor has no f16, LLVM calls these of the compiler's library.
extern "C" float __extendhfsf2(std::uint16_t);
extern "C" std::uint16_t __truncsfhf2(float);

namespace flashproof::ptx {
namespace {

template <class Float>
Float rounded(RoundedOperation operation, Float a, Float b, Float c) {
  switch (operation) {
    case RoundedOperation::add:
      return a + b;
    case RoundedOperation::sub:
      return a - b;
    case RoundedOperation::mul:
      return a * b;
    case RoundedOperation::div:
      return a / b;
    case RoundedOperation::rcp:
      return 1 / a;
    case RoundedOperation::sqrt:
      return std::sqrt(a);
    default:
      return std::fma(a, b, c);
  }
}

template <class Float>
void of_lanes(std::int32_t operation, std::int32_t mode, const Float* operands, Float* out) {
  static constexpr int kModes[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const int before = std::fegetround();
  std::fesetround(kModes[mode]);
  for (int l = 0; l < kLanes; ++l) {
    const volatile Float result =
        rounded(static_cast<RoundedOperation>(operation), operands[l], operands[kLanes + l], operands[2 * kLanes + l]);
    out[l] = result;
  }
  std::fesetround(before);
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

int rounded_operation(std::string_view opcode) {
  static constexpr std::pair<std::string_view, RoundedOperation> kNames[] = {
      {"add", RoundedOperation::add}, {"sub", RoundedOperation::sub}, {"mul", RoundedOperation::mul},
      {"div", RoundedOperation::div}, {"rcp", RoundedOperation::rcp}, {"sqrt", RoundedOperation::sqrt}};
  for (const auto& [name, operation] : kNames) {
    if (name == opcode) return static_cast<int>(operation);
  }
  return static_cast<int>(RoundedOperation::fma);
}

int rounding_mode(std::string_view name) { return name == "rz" ? 0 : name == "rm" ? 1 : 2; }

extern "C" void ptx_rounded_f32(std::int32_t operation, std::int32_t mode, const float* operands, float* out) {
  of_lanes(operation, mode, operands, out);
}
extern "C" void ptx_rounded_f64(std::int32_t operation, std::int32_t mode, const double* operands, double* out) {
  of_lanes(operation, mode, operands, out);
}

std::span<const RuntimeSymbol> runtime_symbols() {
  static const std::vector<RuntimeSymbol> symbols = [] {
    std::vector<RuntimeSymbol> list = {{"ptx_load", address(ptx_load)},
                                       {"ptx_store", address(ptx_store)},
                                       {"ptx_atomic", address(ptx_atomic)},
                                       {"ptx_meet", address(ptx_meet)},
                                       {"ptx_shuffle", address(ptx_shuffle)},
                                       {"ptx_shuffle_fault", address(ptx_shuffle_fault)},
                                       {"ptx_reduce", address(ptx_reduce)},
                                       {"ptx_mma", address(ptx_mma)},
                                       {"ptx_ldmatrix", address(ptx_ldmatrix)},
                                       {"ptx_copy_async", address(ptx_copy_async)},
                                       {"ptx_copies_commit", address(ptx_copies_commit)},
                                       {"ptx_copies_wait", address(ptx_copies_wait)},
                                       {"ptx_mbarrier", address(ptx_mbarrier)},
                                       {"ptx_mbarrier_wait", address(ptx_mbarrier_wait)},
                                       {"ptx_bulk_copy", address(ptx_bulk_copy)},
                                       {"ptx_bulk_commit", address(ptx_bulk_commit)},
                                       {"ptx_bulk_wait", address(ptx_bulk_wait)},
                                       {"ptx_wgmma", address(ptx_wgmma)},
                                       {"ptx_wgmma_commit", address(ptx_wgmma_commit)},
                                       {"ptx_wgmma_wait", address(ptx_wgmma_wait)},
                                       {"ptx_wgmma_early", address(ptx_wgmma_early)},
                                       {"ptx_cluster_rank", address(ptx_cluster_rank)},
                                       {"ptx_fence_proxy", address(ptx_fence_proxy)},
                                       {"ptx_pass", address(ptx_pass)},
                                       {"ptx_print", address(ptx_print)},
                                       {"ptx_assert_fail", address(ptx_assert_fail)},
                                       {"ptx_lanes_u32", address(ptx_lanes_u32)},
                                       {"ptx_lanes_s32", address(ptx_lanes_s32)},
                                       {"ptx_lanes_u64", address(ptx_lanes_u64)},
                                       {"ptx_lanes_s64", address(ptx_lanes_s64)},
                                       {"ptx_rounded_f32", address(ptx_rounded_f32)},
                                       {"ptx_rounded_f64", address(ptx_rounded_f64)},
                                       {"ptx_narrow_f32_to_fp8", address(ptx_narrow_f32_to_fp8)},
                                       {"ptx_narrow_f16_to_fp8", address(ptx_narrow_f16_to_fp8)},
                                       {"ptx_widen_fp8", address(ptx_widen_fp8)},
                                       {"ptx_stmatrix", address(ptx_stmatrix)},
                                       {"ptx_trap", address(ptx_trap)},
                                       {"ptx_fence", address(ptx_fence)},
                                       {"ptx_order_lanes", address(ptx_order_lanes)},
                                       {"memcpy", address<void*(void*, const void*, std::size_t)>(std::memcpy)},
                                       {"memset", address<void*(void*, int, std::size_t)>(std::memset)},
                                       {"memmove", address<void*(void*, const void*, std::size_t)>(std::memmove)},
                                       {"fmaf", address<float(float, float, float)>(fmaf)},
                                       {"fma", address<double(double, double, double)>(fma)},
                                       {"roundeven", address<double(double)>(roundeven)},
                                       {"floor", address<double(double)>(floor)},
                                       {"ceil", address<double(double)>(ceil)},
                                       {"trunc", address<double(double)>(trunc)},
                                       {"roundevenf", address<float(float)>(roundevenf)},
                                       {"floorf", address<float(float)>(floorf)},
                                       {"ceilf", address<float(float)>(ceilf)},
                                       {"truncf", address<float(float)>(truncf)},
                                       {"__extendhfsf2", address(__extendhfsf2)},
                                       {"__truncsfhf2", address(__truncsfhf2)}};
    for (const SpecialFunction& function : special_functions())
      list.push_back({function.symbol, address(function.apply)});
    return list;
  }();
  return symbols;
}

}  // namespace flashproof::ptx
