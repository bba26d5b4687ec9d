// The shared memory of a launch; cpu_memory.h has the part that kernels see.
#pragma once

#include <cstddef>

namespace flashproof::simt {

/// Allocates the dynamic part; frees it and every static array that a kernel has declared meanwhile.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t dynamic_bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
};

/// Poisons the dynamic part and marks every static array as not yet poisoned for the block that starts.
void start_block_memory();

}  // namespace flashproof::simt
