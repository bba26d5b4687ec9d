#include "kernels/plugin/device_driver.h"

#include <dlfcn.h>

#include <bit>
#include <cstdint>

#include "kernels/run/run.h"
#include "reference/system/error.h"

namespace flashproof::device {
namespace {

// cuda.h's types and numbers, as far as they are used here.
using Result = int;
constexpr Result kSuccess = 0;
constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

/// The errors by which a device reports what a kernel did: CUDA_ERROR_ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, ASSERT,
/// HARDWARE_STACK_ERROR .. LAUNCH_FAILED (illegal instruction, misaligned address, address space, pc); and CUDA_ERROR_INVALID_CONTEXT and
/// CONTEXT_IS_DESTROYED, since only the library destroys our context (cudaDeviceReset).
bool is_kernel_fault(Result r) {
  return r == 201 || r == 700 || r == 702 || r == 709 || r == 710 || (r >= 714 && r <= 719);
}

class Driver {
 public:
  static Driver& get() {
    static Driver driver;
    return driver;
  }

  Result (*init)(unsigned) = nullptr;
  Result (*device_count)(int*) = nullptr;
  Result (*device_get)(int*, int) = nullptr;
  Result (*retain)(void**, int) = nullptr;
  Result (*set_current)(void*) = nullptr;
  Result (*alloc)(std::uint64_t*, std::size_t) = nullptr;
  Result (*free)(std::uint64_t) = nullptr;
  Result (*to_device)(std::uint64_t, const void*, std::size_t) = nullptr;
  Result (*to_host)(void*, std::uint64_t, std::size_t) = nullptr;
  Result (*stream_create)(void**, unsigned) = nullptr;
  Result (*synchronize)() = nullptr;
  Result (*error_string)(Result, const char**) = nullptr;
  std::string missing;  // why there is no driver; empty: there is one
  void* stream = nullptr;

  std::string text(Result r) const {
    const char* words = nullptr;
    if (error_string == nullptr || error_string(r, &words) != kSuccess || words == nullptr) words = "unknown error";
    return "error " + std::to_string(r) + ": " + words;
  }

  void check(Result r, const char* what) const {
    if (r == kSuccess) return;
    const std::string message = std::string("cuda: ") + what + ": " + text(r);
    if (is_kernel_fault(r)) throw KernelFault(message);
    throw InfrastructureError(message);
  }

  /// The primary context of device 0, current in this thread.
  const Driver& ready() {
    if (!missing.empty()) throw InfrastructureError("cuda: " + missing);
    if (context_ == nullptr) {
      int device = 0;
      check(init(0), "cuInit");
      check(device_get(&device, 0), "cuDeviceGet");
      check(retain(&context_, device), "cuDevicePrimaryCtxRetain");
      check(set_current(context_), "cuCtxSetCurrent");
      check(stream_create(&stream, kNonBlocking), "cuStreamCreate");
    }
    check(set_current(context_), "cuCtxSetCurrent");  // a library may have set another
    return *this;
  }

 private:
  Driver() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing = "no driver (libcuda.so.1)";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      void* symbol = ::dlsym(library, name);
      if (symbol == nullptr && missing.empty()) missing = std::string("the driver has no ") + name;
      function = reinterpret_cast<std::decay_t<decltype(function)>>(symbol);
    };
    find(init, "cuInit");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(set_current, "cuCtxSetCurrent");
    find(alloc, "cuMemAlloc_v2");
    find(free, "cuMemFree_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(stream_create, "cuStreamCreate");
    find(synchronize, "cuCtxSynchronize");
    find(error_string, "cuGetErrorString");
  }

  void* context_ = nullptr;
};

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

int count(std::string* why) {
  const auto none = [&](const std::string& reason) {
    if (why != nullptr) *why = reason;
    return 0;
  };
  const Driver& driver = Driver::get();
  if (!driver.missing.empty()) return none(driver.missing);
  int devices = 0;
  if (const Result r = driver.init(0); r != kSuccess) return none("cuInit: " + driver.text(r));
  if (const Result r = driver.device_count(&devices); r != kSuccess) return none("cuDeviceGetCount: " + driver.text(r));
  return devices > 0 ? devices : none("no CUDA device");
}

void* allocate(std::size_t bytes) {
  const Driver& driver = Driver::get().ready();
  std::uint64_t memory = 0;
  driver.check(driver.alloc(&memory, bytes), "cuMemAlloc");
  return std::bit_cast<void*>(memory);
}

void release(void* memory) noexcept {
  const Driver& driver = Driver::get();
  if (driver.missing.empty()) driver.free(address(memory));
}

void upload(void* to, const void* from, std::size_t bytes) {
  const Driver& driver = Driver::get().ready();
  driver.check(driver.to_device(address(to), from, bytes), "copy to the device");
  driver.check(driver.synchronize(),
               "copy to the device");  // of pageable memory the copy returns before it has arrived
}

void download(void* to, const void* from, std::size_t bytes) {
  const Driver& driver = Driver::get().ready();
  driver.check(driver.to_host(to, address(from), bytes), "copy from the device");
}

void* stream() { return Driver::get().ready().stream; }

void wait() {
  const Driver& driver = Driver::get().ready();
  driver.check(driver.synchronize(), "the kernel");
}

}  // namespace flashproof::device
