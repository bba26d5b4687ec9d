// Memory: allocated, given back, asked about; copies, fills, and variables of the device.
#include <fmt/format.h>

#include "kernels/ptx/runtime/abi.h"
#include "kernels/ptx/runtime/copies.h"
#include "kernels/ptx/runtime/device.h"

using namespace flashproof::cudart;

namespace {

constexpr std::size_t kPitch = 512;  // bytes that a row of cudaMallocPitch is a multiple of

int allocate(const char* name, void** made, std::size_t bytes, Place place) {
  return call(name, [&](Device& device) { *given(made) = device.memory.allocate(bytes, place); });
}

int release(const char* name, void* data, bool of_host) {
  return call(name, [&](Device& device) { device.memory.release(data, of_host); });
}

int copy_call(const char* name, void* to, const void* from, std::size_t bytes, int direction, const void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    copy(device, to, from, bytes, direction);
  });
}

int copy_rows(const char* name, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
              int direction, const void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    copy(device, to, to_pitch, from, from_pitch, rows, direction);
  });
}

int fill_rows(const char* name, void* to, std::size_t pitch, int value, Rows rows, const void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    fill(device, to, pitch, value, rows);
  });
}

/// `bytes` of the variable from `offset` on.
std::byte* part_of(Device& device, const void* symbol, std::size_t bytes, std::size_t offset) {
  const flashproof::ptx::Array& variable = device.modules.symbol(symbol);
  if (offset > variable.bytes || bytes > variable.bytes - offset) {
    throw Refused(invalid_value, fmt::format("{} bytes from byte {} of {}, which has {} bytes", bytes, offset,
                                             variable.name, variable.bytes));
  }
  return static_cast<std::byte*>(variable.data) + offset;
}

int copy_to(const char* name, const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
            int direction, const void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    copy(device, part_of(device, symbol, bytes, offset), from, bytes, direction);
  });
}

int copy_from(const char* name, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int direction,
              const void* stream) {
  return call(name, [&](Device& device) {
    device.streams.stream(stream);
    copy(device, to, part_of(device, symbol, bytes, offset), bytes, direction);
  });
}

}  // namespace

extern "C" {

int cudaMalloc(void** made, std::size_t bytes) { return allocate("cudaMalloc", made, bytes, Place::device); }
int cudaMallocAsync(void** made, std::size_t bytes, void* /*stream*/) {
  return allocate("cudaMallocAsync", made, bytes, Place::device);
}
int cudaMallocHost(void** made, std::size_t bytes) { return allocate("cudaMallocHost", made, bytes, Place::host); }
int cudaHostAlloc(void** made, std::size_t bytes, unsigned /*flags*/) {
  return allocate("cudaHostAlloc", made, bytes, Place::host);
}
int cudaMallocManaged(void** made, std::size_t bytes, unsigned /*flags*/) {
  return allocate("cudaMallocManaged", made, bytes, Place::managed);
}
int cudaMallocPitch(void** made, std::size_t* pitch, std::size_t width, std::size_t height) {
  return call("cudaMallocPitch", [&](Device& device) {
    const std::size_t row = (width + kPitch - 1) / kPitch * kPitch;
    std::size_t bytes = 0;
    if (row < width || __builtin_mul_overflow(row, height, &bytes))
      throw Refused(memory_allocation, fmt::format("{} rows of {} bytes", height, width));
    *given(pitch) = row;
    *given(made) = device.memory.allocate(bytes, Place::device);
  });
}

int cudaFree(void* data) { return release("cudaFree", data, false); }
int cudaFreeAsync(void* data, void* /*stream*/) { return release("cudaFreeAsync", data, false); }
int cudaFreeHost(void* data) { return release("cudaFreeHost", data, true); }

int cudaHostRegister(void* data, std::size_t bytes, unsigned /*flags*/) {
  return call("cudaHostRegister", [&](Device& device) {
    if (data == nullptr || bytes == 0) throw Refused(invalid_value, "no memory to register");
    if (device.memory.holding(data, 0) != nullptr) throw Refused(already_registered, fmt::format("{} is", data));
    device.memory.add(data, bytes, Place::registered, true, "memory of cudaHostRegister");
  });
}
int cudaHostUnregister(void* data) {
  return call("cudaHostUnregister", [&](Device& device) {
    const Allocation* one = device.memory.holding(data, 0);
    if (one == nullptr || one->place != Place::registered || one->low != reinterpret_cast<std::uint64_t>(data))
      throw Refused(not_registered, fmt::format("{} is no start of registered memory", data));
    device.memory.forget(data);
  });
}
int cudaHostGetDevicePointer(void** made, void* host, unsigned /*flags*/) {
  return call("cudaHostGetDevicePointer", [&](Device& device) {
    if (device.memory.holding(host, 0) == nullptr)
      throw Refused(invalid_value, fmt::format("{} is neither of cudaHostAlloc nor registered", host));
    *given(made) = host;
  });
}

int cudaPointerGetAttributes(abi::PointerAttributes* attributes, const void* data) {
  return call("cudaPointerGetAttributes", [&](Device& device) {
    abi::PointerAttributes& made = *given(attributes) = {};
    const Allocation* one = device.memory.holding(data, 0);
    const bool is_host = one == nullptr || one->place == Place::host || one->place == Place::registered;
    // cudaMemoryType: 0 not known, 1 host, 2 device, 3 managed.
    made.type = one == nullptr ? 0 : one->place == Place::managed ? 3 : is_host ? 1 : 2;
    made.device = one == nullptr ? -2 : 0;
    made.devicePointer = one == nullptr ? nullptr : const_cast<void*>(data);
    made.hostPointer = is_host || made.type == 3 ? const_cast<void*>(data) : nullptr;
  });
}

int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&](Device& device) {
    *given(free) = device.memory.free();
    *given(total) = device.memory.most();
  });
}

int cudaMemcpy(void* to, const void* from, std::size_t bytes, int direction) {
  return copy_call("cudaMemcpy", to, from, bytes, direction, nullptr);
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int direction, void* stream) {
  return copy_call("cudaMemcpyAsync", to, from, bytes, direction, stream);
}
int cudaMemcpyPeer(void* to, int /*device*/, const void* from, int /*device*/, std::size_t bytes) {
  return copy_call("cudaMemcpyPeer", to, from, bytes, static_cast<int>(Direction::device_to_device), nullptr);
}
int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t height, int direction) {
  return copy_rows("cudaMemcpy2D", to, to_pitch, from, from_pitch, {width, height}, direction, nullptr);
}
int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, int direction, void* stream) {
  return copy_rows("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, {width, height}, direction, stream);
}

int cudaMemset(void* to, int value, std::size_t bytes) {
  return fill_rows("cudaMemset", to, bytes, value, {bytes, 1}, nullptr);
}
int cudaMemsetAsync(void* to, int value, std::size_t bytes, void* stream) {
  return fill_rows("cudaMemsetAsync", to, bytes, value, {bytes, 1}, stream);
}
int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return fill_rows("cudaMemset2D", to, pitch, value, {width, height}, nullptr);
}
int cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream) {
  return fill_rows("cudaMemset2DAsync", to, pitch, value, {width, height}, stream);
}

int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int direction) {
  return copy_to("cudaMemcpyToSymbol", symbol, from, bytes, offset, direction, nullptr);
}
int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int direction,
                            void* stream) {
  return copy_to("cudaMemcpyToSymbolAsync", symbol, from, bytes, offset, direction, stream);
}
int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int direction) {
  return copy_from("cudaMemcpyFromSymbol", to, symbol, bytes, offset, direction, nullptr);
}
int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int direction,
                              void* stream) {
  return copy_from("cudaMemcpyFromSymbolAsync", to, symbol, bytes, offset, direction, stream);
}
int cudaGetSymbolAddress(void** made, const void* symbol) {
  return call("cudaGetSymbolAddress", [&](Device& device) { *given(made) = device.modules.symbol(symbol).data; });
}
int cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return call("cudaGetSymbolSize", [&](Device& device) { *given(bytes) = device.modules.symbol(symbol).bytes; });
}

/// Where managed memory lies: there is one memory.
int cudaMemPrefetchAsync(const void* /*data*/, std::size_t /*bytes*/, std::uint64_t /*location*/, unsigned /*flags*/,
                         void* /*stream*/) {
  return call("cudaMemPrefetchAsync", [](Device&) {});
}
int cudaMemAdvise(const void* /*data*/, std::size_t /*bytes*/, int /*advice*/, std::uint64_t /*location*/) {
  return call("cudaMemAdvise", [](Device&) {});
}
}
