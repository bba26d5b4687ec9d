// A CUDA stream as plain data, so that host code that does not know CUDA can pass one on.
#pragma once

namespace flashproof {

struct Stream {
  void* handle = nullptr;  // cudaStream_t; null = the default stream; ignored by the CPU executor
};

}  // namespace flashproof
