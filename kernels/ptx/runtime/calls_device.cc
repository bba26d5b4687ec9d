// The device, errors, versions, limits, and the one function of the driver that is there: cuTensorMapEncodeTiled.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/run/tensor_map.h"
#include "kernels/ptx/runtime/properties.h"
#include "reference/system/error.h"

using namespace flashproof::cudart;

namespace {

constexpr int kVersion = 13000;

struct ChannelFormat {
  int x, y, z, w, kind;  // bits of each
};

void check_device(int number) {
  if (number != 0) throw Refused(invalid_device, fmt::format("device {}, legal: 0", number));
}

/// CUresult as cuTensorMapEncodeTiled of CUDA 12 and 13 gives it.
int encode_tiled(void* map, std::uint32_t type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                 const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* steps,
                 std::uint32_t interleave, std::uint32_t swizzle, std::uint32_t promotion, std::uint32_t fill) {
  namespace ptx = flashproof::ptx;
  return call("cuTensorMapEncodeTiled", [&](Device&) {
    if (rank < 1 || rank > ptx::kMostAxes)
      throw Refused(invalid_value, fmt::format("{} axes, legal: 1 to {}", rank, ptx::kMostAxes));
    ptx::TiledTensor tensor;
    tensor.type = static_cast<ptx::TensorType>(type);
    tensor.rank = rank;
    tensor.address = address;
    std::copy_n(given(sizes), rank, tensor.sizes.begin());
    std::copy_n(rank > 1 ? given(strides) : strides, rank - 1, tensor.strides.begin());
    std::copy_n(given(box), rank, tensor.box.begin());
    std::copy_n(given(steps), rank, tensor.steps.begin());
    tensor.interleave = static_cast<ptx::Interleave>(interleave);
    tensor.swizzle = static_cast<ptx::Swizzle>(swizzle);
    tensor.promotion = static_cast<ptx::Promotion>(promotion);
    tensor.fill = static_cast<ptx::Fill>(fill);
    *static_cast<ptx::TensorMap*>(given(map)) = ptx::encode_tiled(tensor);
  });
}

int entry_point(const char* name, const char* symbol, void** function, int* found) {
  return call(name, [&](Device&) {
    const bool is_known = std::string_view(given(symbol)) == "cuTensorMapEncodeTiled";
    *given(function) = is_known ? reinterpret_cast<void*>(&encode_tiled) : nullptr;
    if (found != nullptr) *found = is_known ? 0 : 1;  // cudaDriverEntryPointSymbolNotFound
    if (!is_known) {
      throw Refused(not_supported, fmt::format("{} of the driver is not there, cuTensorMapEncodeTiled is",
                                               flashproof::ptx::shown(symbol)));
    }
  });
}

}  // namespace

extern "C" {

/// Of textures, which are refused, but headers make them in code that never runs. `kind`: cudaChannelFormatKind.
ChannelFormat cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

int cudaGetLastError() { return last_error(true); }
int cudaPeekAtLastError() { return last_error(false); }
const char* cudaGetErrorName(int status) { return name_of(status); }
const char* cudaGetErrorString(int status) { return words_of(status); }

int cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [](Device&) {});
}
/// The device works again; what was allocated is gone.
int cudaDeviceReset() {
  return call_always("cudaDeviceReset", [](Device& device) {
    device.memory.release_all();
    device.broken = success;
  });
}
int cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&](Device&) { *given(count) = 1; });
}
int cudaGetDevice(int* number) {
  return call("cudaGetDevice", [&](Device&) { *given(number) = 0; });
}
int cudaSetDevice(int number) {
  return call("cudaSetDevice", [&](Device&) { check_device(number); });
}
int cudaInitDevice(int number, unsigned /*device_flags*/, unsigned /*flags*/) {
  return call("cudaInitDevice", [&](Device&) { check_device(number); });
}
int cudaChooseDevice(int* number, const abi::DeviceProp* /*wanted*/) {
  return call("cudaChooseDevice", [&](Device&) { *given(number) = 0; });
}
int cudaGetDeviceFlags(unsigned* flags) {
  return call("cudaGetDeviceFlags", [&](Device&) { *given(flags) = 0; });
}
int cudaSetDeviceFlags(unsigned /*flags*/) {
  return call("cudaSetDeviceFlags", [](Device&) {});
}
int cudaGetDeviceProperties(abi::DeviceProp* properties, int number) {
  return call("cudaGetDeviceProperties", [&](Device& device) {
    check_device(number);
    *given(properties) = properties_of(device);
  });
}
int cudaDeviceGetAttribute(int* value, int attribute, int number) {
  return call("cudaDeviceGetAttribute", [&](Device& device) {
    check_device(number);
    const auto known = attribute_of(device, attribute);
    if (!known) throw Refused(not_supported, fmt::format("attribute {} is not known here", attribute));
    *given(value) = *known;
  });
}
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&](Device&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
  });
}
int cudaDeviceCanAccessPeer(int* can, int number, int other) {
  return call("cudaDeviceCanAccessPeer", [&](Device&) {
    check_device(number);
    check_device(other);
    *given(can) = 0;
  });
}
/// Caches, and limits that are others here (kernels/ptx/README.md).
int cudaDeviceSetCacheConfig(int /*config*/) {
  return call("cudaDeviceSetCacheConfig", [](Device&) {});
}
int cudaDeviceSetLimit(int /*limit*/, std::size_t /*value*/) {
  return call("cudaDeviceSetLimit", [](Device&) {});
}

int cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&](Device&) { *given(version) = kVersion; });
}
int cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&](Device&) { *given(version) = kVersion; });
}
int cudaProfilerStart() {
  return call("cudaProfilerStart", [](Device&) {});
}
int cudaProfilerStop() {
  return call("cudaProfilerStop", [](Device&) {});
}

int cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long /*flags*/, int* found) {
  return entry_point("cudaGetDriverEntryPoint", symbol, function, found);
}
int cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned /*version*/,
                                     unsigned long long /*flags*/, int* found) {
  return entry_point("cudaGetDriverEntryPointByVersion", symbol, function, found);
}
}
