// What a foreign kernel on device pointers needs of a GPU: memory, copies, a stream. From the driver (libcuda.so.1), which is
// looked for when first asked: neither nvcc nor a CUDA build of this program is needed to check a foreign CUDA kernel. The
// device is the first that CUDA_VISIBLE_DEVICES leaves, in its primary context, which the library's own CUDA runtime uses too.
//
// Never in a process that forks afterwards. Every function throws KernelFault where the driver reports what a kernel did (the
// context is lost then, with it the process's GPU), InfrastructureError for the rest.
#pragma once

#include <cstddef>
#include <string>

namespace flashproof::device {

/// Number of usable devices; 0 without a driver. `why` says which.
int count(std::string* why = nullptr);
void* allocate(std::size_t bytes);
void release(void* memory) noexcept;
/// Done when it returns, whichever stream reads it then.
void upload(void* to, const void* from, std::size_t bytes);
void download(void* to, const void* from, std::size_t bytes);
/// The one stream of this process, not the default one.
void* stream();
/// Waits for everything on the device.
void wait();

}  // namespace flashproof::device
