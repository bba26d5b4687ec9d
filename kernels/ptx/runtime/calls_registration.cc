// What nvcc's host code calls: before main() the binaries, kernels and variables of each object, then each <<<...>>>.
#include <vector>

#include "kernels/ptx/runtime/abi.h"
#include "kernels/ptx/runtime/device.h"
#include "kernels/ptx/runtime/launch.h"

using namespace flashproof::cudart;

namespace {

struct Configuration {
  abi::Dim grid, block;
  std::size_t shared;
  void* stream;
};

/// Of this thread, between <<<...>>> and the stub that launches.
std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> pushed;
  return pushed;
}

Binary& binary_of(void** handle) { return *reinterpret_cast<Binary*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  void** handle = nullptr;
  call_always("__cudaRegisterFatBinary",
              [&](Device& device) { handle = reinterpret_cast<void**>(device.modules.add(wrapper)); });
  return handle;
}

void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}

void __cudaUnregisterFatBinary(void** handle) {
  call_always("__cudaUnregisterFatBinary", [&](Device& device) { device.modules.remove(&binary_of(handle)); });
}

void __cudaRegisterFunction(void** handle, const char* host, char* /*device*/, const char* name, int /*threads*/,
                            void* /*tid*/, void* /*bid*/, void* /*block*/, void* /*grid*/, int* /*warp*/) {
  call_always("__cudaRegisterFunction",
              [&](Device& device) { device.modules.add_kernel(&binary_of(handle), host, name); });
}

void __cudaRegisterVar(void** handle, char* host, char* /*device*/, const char* name, int /*external*/,
                       std::size_t /*bytes*/, int /*constant*/, int /*global*/) {
  call_always("__cudaRegisterVar", [&](Device& device) { device.modules.add_symbol(&binary_of(handle), host, name); });
}

void __cudaRegisterManagedVar(void** handle, void** host, char* /*device*/, const char* name, int /*external*/,
                              std::size_t /*bytes*/, int /*constant*/, int /*global*/) {
  call_always("__cudaRegisterManagedVar", [&](Device& device) {
    binary_of(handle).managed.push_back({host, name});
    device.modules.add_symbol(&binary_of(handle), static_cast<const void*>(host), name);
  });
}

/// Before the host looks at a managed variable, or a kernel is launched. A binary that cannot be read is told at its first launch.
char __cudaInitModule(void** handle) {
  call_always("__cudaInitModule", [&](Device& device) {
    if (!binary_of(handle).managed.empty()) device.modules.load(binary_of(handle));
  });
  return 1;
}

unsigned __cudaPushCallConfiguration(abi::Dim grid, abi::Dim block, std::size_t shared, void* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

int __cudaPopCallConfiguration(abi::Dim* grid, abi::Dim* block, std::size_t* shared, void* stream) {
  if (configurations().empty()) return invalid_configuration;
  const Configuration one = configurations().back();
  configurations().pop_back();
  *grid = one.grid;
  *block = one.block;
  *shared = one.shared;
  *static_cast<void**>(stream) = one.stream;
  return success;
}

/// A kernel's handle is the address of its host stub.
int __cudaGetKernel(const void** kernel, const void* host) {
  *kernel = host;
  return success;
}

int __cudaLaunchKernel(const void* kernel, abi::Dim grid, abi::Dim block, void** arguments, std::size_t shared,
                       void* stream) {
  return call("cudaLaunchKernel",
              [&](Device& device) { launch(device, {kernel, grid, block, arguments, shared, stream}); });
}
}
