#include "fuzz/batch/memory.h"

#include <cstdlib>  // defines __GLIBC__ where it is
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace flashproof {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kNever = 1 << 30;     // bytes free at the end of the heap
  constexpr int kLargest = 32 << 20;  // the most that glibc takes for M_MMAP_THRESHOLD
  constexpr int kGrowth = 4 << 20;
  mallopt(M_TRIM_THRESHOLD, kNever);
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TOP_PAD, kGrowth);
#endif
}

}  // namespace flashproof
