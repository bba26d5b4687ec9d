#include "fuzz/batch/memory.h"

#include <cstdlib>  // defines __GLIBC__ where it is
#ifdef __GLIBC__
#include <malloc.h>
#endif

// Read by AddressSanitizer's own allocator; ASAN_OPTIONS goes before it. An execution of a small shape frees 0.2 MB: 1 MB (and
// as much of the thread's own) holds the freed memory of several instead of 256 MB of pages that are never warm. What is used after
// it was freed, and after more than that was freed since, is not found; large cases free more. Of an allocation's stack the first
// calls tell where it was made; and frames kept after their return would cost a lookup at each of the executor's calls. All
// three together: four times the executions. Here, beside what every target calls, since the linker takes whole files of a library.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "quarantine_size_mb=1:malloc_context_size=4:detect_stack_use_after_return=0";
}

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
