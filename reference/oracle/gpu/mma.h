// The two instructions of Hopper that the device tier rests on: the fp64 matrix product and the bulk copy.
#pragma once

#include <cstdint>

namespace flashproof::gpu {

#ifdef __CUDACC__

/// c += a·b for a 16 x 8 tile, 16 products per element; fragments as in layout.h. The manual: "precision of the
/// element-wise multiplication and addition operation is identical to that of .f64 precision fused multiply-add", to
/// nearest. The order is not specified and nothing here depends on it (probe.h checks what is assumed).
__device__ inline void multiply_add(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64.rn {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
#else
  __trap();  // gpu_tier_available() keeps such a device away
#endif
}

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// A barrier that one thread arrives at, in start_copy().
__device__ inline void make_barrier(std::uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
#endif
}
/// After the last make_barrier() and before __syncthreads(): the copy engine sees the barriers.
__device__ inline void publish_barriers() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// One thread: `bytes` (a multiple of 16) from global to shared memory, both 16-byte aligned; completes `barrier`.
__device__ inline void start_copy(void* to, const void* from, std::uint32_t bytes, std::uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
#endif
}

/// Until the barrier's phase of this parity is complete: 0 for its first use, then 1, 0, ...
__device__ inline void wait_for(std::uint64_t* barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t done;
  do {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  } while (done == 0);
#endif
}

/// Adds 1 to a counter in shared memory; what this thread read before happens before what the last one starts.
__device__ inline std::uint32_t count_up(std::uint32_t* counter) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.cta.shared.add.u32 %0, [%1], 1;" : "=r"(before) : "r"(shared_address(counter)) : "memory");
  return before;
}

#endif

}  // namespace flashproof::gpu
