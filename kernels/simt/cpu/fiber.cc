#include "kernels/simt/cpu/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "reference/system/error.h"

namespace flashproof::simt {
namespace {

// Kernels need a few KiB; the rest is room for an exception on its way out and for a sanitizer's report.
#if defined(FP_ASAN)
constexpr std::size_t kStackBytes = 256 * 1024;
#else
constexpr std::size_t kStackBytes = 128 * 1024;
#endif

// Tops differ by multiples of 128 bytes within one page: the stacks themselves lie whole pages apart.
constexpr std::size_t kStagger = 128;
constexpr std::size_t kStaggers = 32;

}  // namespace

void make_fiber(Fiber& fiber, unsigned number, void (*entry)(boost::context::detail::transfer_t)) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const mapping = mmap(nullptr, kStackBytes + page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) {
    throw InfrastructureError("executor: cannot map a stack of " + std::to_string(kStackBytes) +
                              " bytes: " + std::strerror(errno));
  }
  if (mprotect(mapping, page, PROT_NONE) != 0) {
    const int error = errno;
    munmap(mapping, kStackBytes + page);
    throw InfrastructureError(std::string("executor: cannot protect the guard page of a stack: ") +
                              std::strerror(error));
  }
  char* const bottom = static_cast<char*>(mapping) + page;
  const std::size_t size = kStackBytes - number % kStaggers * kStagger;
  fiber.context = boost::context::detail::make_fcontext(bottom + size, size, entry);
  fiber.stack_top = bottom + size;
#if defined(FP_ASAN)
  fiber.stack_bottom = bottom;
  fiber.stack_bytes = kStackBytes;
#endif
}

}  // namespace flashproof::simt
