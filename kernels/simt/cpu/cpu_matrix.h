// matrix.h on the CPU executor. The unit of mma is that of the innermost simt::ScopedMatrixUnit, bit for bit
// (reference/model/block_fma.h). Copies land at once, or, in a lazy schedule, at the wait for their group: their
// destination is NaN until then, so that a wait that is missing shows.
#pragma once

#include <cstdint>

#include "kernels/simt/cpu/cpu_collectives.h"
#include "kernels/simt/storage.h"
#include "reference/problem/formats.h"

namespace flashproof::simt {

/// What a lane brings to mma.
struct MmaOperands {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

/// What a lane brings to ldmatrix.
struct MatrixRows {
  std::uint32_t* r;
  const void* row;
};

// In collectives.cc: every lane of the warp meets here, or it is a Fault. `operands`: one of the above, by the kind.
void warp_matrix(Collective kind, void* operands, const char* file, int line);
// In matrix.cc.
void load_matrices(Collective kind, std::uint32_t* r, const void* row, const char* file, int line);
// In async_copy.cc.
void start_copy(void* to, const void* from, bool valid, const char* file, int line);
void commit_copies(const char* file, int line);
void wait_for_copies(int pending, const char* file, int line);
// In shared_memory.cc: whether all of these bytes are in one shared array of the running block.
bool is_shared(const void* p, std::size_t bytes);

}  // namespace flashproof::simt

namespace flashproof::FP_EXECUTOR {

#define FP_CALL_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <Format F>
inline void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], FP_CALL_SITE) {
  static_assert(F == Format::f16 || F == Format::bf16, "mma_m16n8k16 multiplies f16 or bf16");
  simt::MmaOperands operands{d, a, b};
  simt::warp_matrix(F == Format::f16 ? simt::Collective::mma_f16 : simt::Collective::mma_bf16, &operands, file, line);
}

inline void ldmatrix_x2(std::uint32_t (&r)[2], const void* row, FP_CALL_SITE) {
  simt::load_matrices(simt::Collective::ldmatrix_x2, r, row, file, line);
}
inline void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row, FP_CALL_SITE) {
  simt::load_matrices(simt::Collective::ldmatrix_x2_trans, r, row, file, line);
}
inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, FP_CALL_SITE) {
  simt::load_matrices(simt::Collective::ldmatrix_x4, r, row, file, line);
}
inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, FP_CALL_SITE) {
  simt::load_matrices(simt::Collective::ldmatrix_x4_trans, r, row, file, line);
}

inline void cp_async_16(void* to, const void* from, bool valid, FP_CALL_SITE) {
  simt::start_copy(to, from, valid, file, line);
}
inline void cp_async_commit(FP_CALL_SITE) { simt::commit_copies(file, line); }
template <int kPending>
inline void cp_async_wait(FP_CALL_SITE) {
  static_assert(kPending >= 0, "at least 0 groups stay under way");
  simt::wait_for_copies(kPending, file, line);
}

#undef FP_CALL_SITE

template <Format F>
inline std::uint32_t pack(float low, float high) {
  static_assert(F == Format::f16 || F == Format::bf16, "pack makes f16 or bf16");
  if constexpr (F == Format::f16) return storage::to_f16(low) | static_cast<std::uint32_t>(storage::to_f16(high)) << 16;
  return storage::to_bf16(low) | static_cast<std::uint32_t>(storage::to_bf16(high)) << 16;
}

}  // namespace flashproof::FP_EXECUTOR
