// The emitters that the table of forms names, and what they share.
#pragma once

#include <string>
#include <vector>

#include "kernels/ptx/run/code.h"
#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {

inline constexpr Type kWord{'u', 32};

// emit_float.cc
void emit_float_arithmetic(BlockCode& code, const Form& form, const Instruction& in);
void emit_float_extremum(BlockCode& code, const Form& form, const Instruction& in);
void emit_float_sign(BlockCode& code, const Form& form, const Instruction& in);
void emit_copysign(BlockCode& code, const Form& form, const Instruction& in);
void emit_testp(BlockCode& code, const Form& form, const Instruction& in);
void emit_special_function(BlockCode& code, const Form& form, const Instruction& in);

// emit_half.cc
void emit_half_arithmetic(BlockCode& code, const Form& form, const Instruction& in);

// emit_compare.cc
void emit_setp(BlockCode& code, const Form& form, const Instruction& in);
void emit_set(BlockCode& code, const Form& form, const Instruction& in);
void emit_selp(BlockCode& code, const Form& form, const Instruction& in);
void emit_logic(BlockCode& code, const Form& form, const Instruction& in);

// emit_integer.cc
/// The operation by the runtime, lane by lane, on numbers of 32 or 64 bits.
std::string by_lanes(BlockCode& code, LaneOperation operation, Type type, const std::vector<std::string>& x);
void emit_integer_arithmetic(BlockCode& code, const Form& form, const Instruction& in);
void emit_absolute_difference(BlockCode& code, const Form& form, const Instruction& in);
void emit_dot_product(BlockCode& code, const Form& form, const Instruction& in);
void emit_with_carry(BlockCode& code, const Form& form, const Instruction& in);
void emit_division(BlockCode& code, const Form& form, const Instruction& in);

// emit_bits.cc
void emit_shift(BlockCode& code, const Form& form, const Instruction& in);
void emit_funnel_shift(BlockCode& code, const Form& form, const Instruction& in);
void emit_bit_find(BlockCode& code, const Form& form, const Instruction& in);
void emit_bit_count(BlockCode& code, const Form& form, const Instruction& in);
void emit_bit_field(BlockCode& code, const Form& form, const Instruction& in);
void emit_wide_bit_field(BlockCode& code, const Form& form, const Instruction& in);
void emit_bit_mask(BlockCode& code, const Form& form, const Instruction& in);
void emit_prmt(BlockCode& code, const Form& form, const Instruction& in);
void emit_lop3(BlockCode& code, const Form& form, const Instruction& in);

// emit_convert.cc
void emit_cvt_integer(BlockCode& code, const Form& form, const Instruction& in);
void emit_cvt_to_integer(BlockCode& code, const Form& form, const Instruction& in);
void emit_cvt_from_integer(BlockCode& code, const Form& form, const Instruction& in);
void emit_cvt_tf32(BlockCode& code, const Form& form, const Instruction& in);
void emit_cvt_float(BlockCode& code, const Form& form, const Instruction& in);

// emit_fp8.cc
void emit_cvt_fp8(BlockCode& code, const Form& form, const Instruction& in);

// emit_move.cc
void emit_mov(BlockCode& code, const Form& form, const Instruction& in);
void emit_cvta(BlockCode& code, const Form& form, const Instruction& in);
void emit_isspacep(BlockCode& code, const Form& form, const Instruction& in);
/// %tid.x and so on, as integers of the type's width.
std::string special_register(BlockCode& code, const Operand& operand, Type type);
/// The address of a variable in its own space, as mov gives it.
std::string symbol_address(BlockCode& code, const Operand& operand, Type type);
/// The same for a memory operand: "<32 x i64>".
std::string symbol_place(BlockCode& code, const Operand& operand, Space space);

// emit_memory.cc
std::vector<Operand> elements(const Operand& operand);  // of {a, b}, or the operand alone
Space space_of(const Form& form);
void store_address(BlockCode& code, const Operand& operand, Space space, int room);
void emit_load(BlockCode& code, const Form& form, const Instruction& in);
void emit_store(BlockCode& code, const Form& form, const Instruction& in);
/// A cache policy: nothing here asks what it says.
void emit_policy(BlockCode& code, const Form& form, const Instruction& in);
void emit_atomic(BlockCode& code, const Form& form, const Instruction& in);

// emit_async.cc
void emit_copy_async(BlockCode& code, const Form& form, const Instruction& in);
void emit_copy_group(BlockCode& code, const Form& form, const Instruction& in);

// emit_mbarrier.cc
void emit_mbarrier(BlockCode& code, const Form& form, const Instruction& in);
void emit_mbarrier_wait(BlockCode& code, const Form& form, const Instruction& in);
void emit_pending_count(BlockCode& code, const Form& form, const Instruction& in);

// emit_cluster.cc
void emit_map_address(BlockCode& code, const Form& form, const Instruction& in);
void emit_rank_of_address(BlockCode& code, const Form& form, const Instruction& in);
void emit_elect(BlockCode& code, const Form& form, const Instruction& in);
/// setmaxnreg: nothing here runs out of registers.
void emit_register_count(BlockCode& code, const Form& form, const Instruction& in);
void emit_proxy_fence(BlockCode& code, const Form& form, const Instruction& in);

// emit_bulk.cc
void emit_bulk_copy(BlockCode& code, const Form& form, const Instruction& in);
void emit_bulk_group(BlockCode& code, const Form& form, const Instruction& in);

// emit_call.cc
/// The end of a block: arguments to the function's parameters, and where to go back to.
void emit_call(BlockCode& code, const Instruction& in);
/// Behind it: what the function has returned.
void emit_call_result(BlockCode& code, const Form& form, const Instruction& in);
void emit_print(BlockCode& code, const Form& form, const Instruction& in);
void emit_assert_fail(BlockCode& code, const Form& form, const Instruction& in);

// emit_matrix.cc
void emit_mma(BlockCode& code, const Form& form, const Instruction& in);
void emit_ldmatrix(BlockCode& code, const Form& form, const Instruction& in);
void emit_stmatrix(BlockCode& code, const Form& form, const Instruction& in);

MatrixOperation matrix_operation(const Form& form);  // of the factors

// emit_wgmma.cc
void emit_wgmma(BlockCode& code, const Form& form, const Instruction& in);
void emit_wgmma_group(BlockCode& code, const Form& form, const Instruction& in);

// emit_warp.cc
void emit_shuffle(BlockCode& code, const Form& form, const Instruction& in);
void emit_vote(BlockCode& code, const Form& form, const Instruction& in);
void emit_reduction(BlockCode& code, const Form& form, const Instruction& in);
void emit_activemask(BlockCode& code, const Form& form, const Instruction& in);
void emit_fence(BlockCode& code, const Form& form, const Instruction& in);
/// The end of a block: number, threads and votes of the barrier into the context.
void emit_barrier(BlockCode& code, const Form& form, const Instruction& in);
/// Behind it: what bar.red has found.
void emit_barrier_result(BlockCode& code, const Form& form, const Instruction& in);
inline void emit_nothing(BlockCode&, const Form&, const Instruction&) {}

}  // namespace flashproof::ptx
