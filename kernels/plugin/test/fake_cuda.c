/* A pretended libcuda.so.1 for the tests: device memory is the host's, at other addresses than what is copied there. So the
 * way through device pointers is tested on machines without a GPU. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef int Result;
enum { PAGE = 4096, NO_ACCESS = 1 << 24 };

Result cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
Result cuDeviceGetCount(int* count) {
  *count = getenv("FAKE_CUDA_NO_DEVICE") != 0 ? 0 : 1;
  return 0;
}
Result cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? 0 : 101;
}
Result cuDevicePrimaryCtxRetain(void** context, int device) {
  static int one;
  *context = &one;
  return device == 0 ? 0 : 101;
}
Result cuCtxSetCurrent(void* context) { return context != 0 ? 0 : 201; }
Result cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  /* A page that has the size, the memory, and behind it pages that may not be touched. */
  const size_t used = PAGE + (bytes + PAGE - 1) / PAGE * PAGE, all = used + NO_ACCESS;
  char* block = mmap(0, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED || mprotect(block + used, NO_ACCESS, PROT_NONE) != 0) return 2;
  *(size_t*)block = all;
  *memory = (uintptr_t)(block + PAGE);
  return 0;
}
Result cuMemFree_v2(uint64_t memory) {
  if (memory == 0) return 0;
  char* block = (char*)(uintptr_t)memory - PAGE;
  return munmap(block, *(size_t*)block) == 0 ? 0 : 1;
}
Result cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}
Result cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  memcpy(to, (const void*)(uintptr_t)from, bytes);
  return 0;
}
Result cuStreamCreate(void** stream, unsigned flags) {
  static int one;
  *stream = &one;
  return flags == 1 ? 0 : 1;
}
/* The error that a kernel left, as the next call tells it. */
Result cuCtxSynchronize(void) { return getenv("FAKE_CUDA_FAULT") != 0 ? atoi(getenv("FAKE_CUDA_FAULT")) : 0; }
Result cuGetErrorString(Result error, const char** text) {
  *text = error == 700   ? "an illegal memory access was encountered"
          : error == 709 ? "context is destroyed"
                         : "no such error";
  return 0;
}
