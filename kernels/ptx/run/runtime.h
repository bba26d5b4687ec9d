// The functions that translated code calls. Each takes bit patterns of 32 lanes, and touches no memory but that of the launch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

enum class ShuffleMode : std::uint8_t { up, down, bfly, idx };
enum class WarpReduction : std::uint8_t { add, min, max, bit_and, bit_or, bit_xor, match };
enum class LaneOperation : std::uint8_t { mul_hi, div, rem, permute, field, insert, mask_clamp, mask_wrap };
enum class RoundedOperation : std::uint8_t { add, sub, mul, div, rcp, sqrt, fma };

ShuffleMode shuffle_mode(std::string_view name);      // "up", ...
WarpReduction warp_reduction(std::string_view name);  // "add", ..., "any" of match.any
int rounded_operation(std::string_view opcode);       // "add", ..., "mad" as "fma"
int rounding_mode(std::string_view name);             // "rz", "rm", "rp" -> of fesetround

/// What may be called: the functions below, those of special_functions.h, and what LLVM makes calls of.
std::span<const RuntimeSymbol> runtime_symbols();

extern "C" {
/// Checked accesses of the active lanes: 32 addresses in, out[element][lane] of the site's width. A finding ends the launch.
void ptx_load(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, void* out, std::uint32_t site);
void ptx_store(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const void* values,
               std::uint32_t site);
/// Lanes in ascending order. operands[0..1][lane], out[lane] as they were before.
void ptx_atomic(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const void* operands, void* out,
                std::uint32_t site);
/// The lanes whose members have all come to this place; the others wait.
std::uint32_t ptx_meet(Context* context, std::uint32_t lanes, const std::uint32_t* members, std::uint32_t site);
/// operands: value, other lane, clamp, members. Returns the lanes whose other lane is inside its segment.
std::uint32_t ptx_shuffle(Context* context, std::uint32_t lanes, std::int32_t mode, const std::uint32_t* operands,
                          std::uint32_t* out, std::uint32_t site);
void ptx_shuffle_fault(Context* context, std::uint32_t missing, std::uint32_t site);
/// operands: value, members.
void ptx_reduce(std::uint32_t lanes, std::int32_t operation, std::int32_t is_signed, const std::uint32_t* operands,
                std::uint32_t* out);
/// d = a·b + c of the whole warp, site.count products each; [register][lane] of the fragments.
void ptx_mma(Context* context, std::uint32_t lanes, const std::uint32_t* a, const std::uint32_t* b,
             const std::uint32_t* c, std::uint32_t* d, std::uint32_t site);
/// wgmma of the warp's 16 rows. sums: [register][lane], in and out; registers: of a, if flags say so; descriptors of a and b by lane; flags:
/// WgmmaFlag; site.count: columns / 8. Its groups; a wait for all but `pending` of them.
void ptx_wgmma(Context* context, std::uint32_t lanes, std::uint32_t* sums, const std::uint32_t* registers,
               const std::uint64_t* descriptors, std::uint32_t flags, std::uint32_t site);
void ptx_wgmma_commit(Context* context);
void ptx_wgmma_wait(Context* context, std::uint32_t pending);
/// An instruction uses a register of a wgmma behind which at least `age` groups were committed (-1: it may not be itself).
void ptx_wgmma_early(Context* context, std::int32_t age, std::uint32_t site);
/// Lane l brings the address of row l % 8 of matrix l / 8: site.count matrices, out[matrix][lane].
void ptx_ldmatrix(Context* context, std::uint32_t lanes, const std::uint64_t* rows, std::uint32_t* out,
                  std::uint32_t site);
/// The same the other way: in[matrix][lane] to the rows.
void ptx_stmatrix(Context* context, std::uint32_t lanes, const std::uint64_t* rows, const std::uint32_t* in,
                  std::uint32_t site);
/// cp.async: from global to shared memory, zeros behind the first valid[lane] bytes; its groups; a wait for all but `pending` of them.
void ptx_copy_async(Context* context, std::uint32_t lanes, const std::uint64_t* to, const std::uint64_t* from,
                    const std::uint32_t* valid, std::uint32_t site);
void ptx_copies_commit(Context* context, std::uint32_t lanes);
void ptx_copies_wait(Context* context, std::uint32_t lanes, std::uint32_t pending);
/// An operation on mbarriers; values: arrivals or bytes, states: what there was before.
void ptx_mbarrier(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const std::uint64_t* values,
                  std::uint64_t* states, std::uint32_t site);
/// The lanes whose phase, by a state or a parity, is over.
std::uint32_t ptx_mbarrier_wait(Context* context, std::uint32_t lanes, const std::uint64_t* addresses,
                                const std::uint64_t* values, std::uint32_t site);
/// cp.async.bulk: addresses in global memory (of tensors the map's), in shared memory, of the mbarrier; numbers: bytes, or a tensor's
/// coordinates. Its groups; a wait for all but `pending` of them, or for what they read.
void ptx_bulk_copy(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const std::uint32_t* numbers,
                   std::uint32_t site);
void ptx_bulk_commit(Context* context, std::uint32_t lanes);
void ptx_bulk_wait(Context* context, std::uint32_t lanes, std::uint32_t pending, std::uint32_t for_reads);
/// A block of the cluster is named: there is one.
void ptx_cluster_rank(Context* context, std::uint32_t lanes, const std::uint32_t* ranks, std::uint32_t site);
/// A parameter or result of a call, from one place of the lanes' local memory to another.
void ptx_pass(Context* context, std::uint32_t lanes, std::uint64_t from, std::uint64_t to, std::uint64_t bytes);
/// vprintf and __assertfail of the driver: the arguments, and the place of the result, are places in the lanes' local memory.
void ptx_print(Context* context, std::uint32_t lanes, std::uint64_t format, std::uint64_t arguments,
               std::uint64_t result, std::uint32_t site);
void ptx_assert_fail(Context* context, std::uint32_t lanes, std::uint64_t message, std::uint64_t file,
                     std::uint64_t line, std::uint64_t function, std::uint32_t site);
/// What LLVM makes hundreds of instructions of, lane by lane. operands[0..3][lane] as the operation has them.
void ptx_lanes_u32(std::int32_t operation, const std::uint32_t* operands, std::uint32_t* out);
void ptx_lanes_s32(std::int32_t operation, const std::int32_t* operands, std::int32_t* out);
void ptx_lanes_u64(std::int32_t operation, const std::uint64_t* operands, std::uint64_t* out);
void ptx_lanes_s64(std::int32_t operation, const std::int64_t* operands, std::int64_t* out);
/// One rounding in another direction. operands[0..2][lane] as the operation has them.
void ptx_rounded_f32(std::int32_t operation, std::int32_t mode, const float* operands, float* out);
void ptx_rounded_f64(std::int32_t operation, std::int32_t mode, const double* operands, double* out);
/// cvt of pairs between the format of 8 bits and f16 or f32.
void ptx_narrow_f32_to_fp8(std::int32_t format, std::int32_t relu, const float* operands, std::uint16_t* out);
void ptx_narrow_f16_to_fp8(std::int32_t format, std::int32_t relu, const std::uint32_t* operands, std::uint16_t* out);
void ptx_widen_fp8(std::int32_t format, std::int32_t relu, const std::uint16_t* operands, std::uint32_t* out);
/// A trap, or with an operation of 1 a brkpt, which without a debugger ends the launch as well.
void ptx_trap(Context* context, std::uint32_t lanes, std::uint32_t site);
void ptx_fence(Context* context, std::uint32_t lanes, std::int32_t scope);
/// fence.proxy.async: what lies before it asynchronous operations behind it may read.
void ptx_fence_proxy(Context* context, std::uint32_t lanes);
/// A collective that is no matrix instruction: accesses before it are ordered before those behind it.
void ptx_order_lanes(Context* context);
}

}  // namespace flashproof::ptx
