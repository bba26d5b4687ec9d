#include "kernels/ptx/runtime/properties.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace flashproof::cudart {
namespace {

/// An H100 SXM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 9.0).
constexpr int kMultiprocessors = 132, kSharedOfBlock = 48 << 10, kSharedOptIn = 227 << 10, kSharedOfSm = 228 << 10,
              kRegisters = 65536, kThreadsOfSm = 2048, kBlocksOfSm = 32, kConstant = 64 << 10, kL2 = 50 << 20,
              kKiloHertz = 1'980'000, kPitch = 2147483647, kAlignment = 512;

struct AttributeRow {
  int number, value;
};

/// By the numbers of cudaDeviceAttr, in their order.
constexpr AttributeRow kAttributes[] = {{1, 1024},
                                        {2, 1024},
                                        {3, 1024},
                                        {4, 64},  // threads
                                        {5, kPitch},
                                        {6, 65535},
                                        {7, 65535},  // blocks
                                        {8, kSharedOfBlock},
                                        {9, kConstant},
                                        {10, 32},
                                        {11, kPitch},
                                        {12, kRegisters},
                                        {13, kKiloHertz},
                                        {14, kAlignment},
                                        {15, 1},
                                        {16, kMultiprocessors},
                                        {17, 0},
                                        {18, 0},
                                        {19, 1},
                                        {20, 0},
                                        {31, 1},
                                        {32, 0},
                                        {33, 0},
                                        {34, 0},
                                        {35, 0},
                                        {36, kKiloHertz},
                                        {37, 5120},
                                        {38, kL2},
                                        {39, kThreadsOfSm},
                                        {40, 1},
                                        {41, 1},
                                        {50, 0},
                                        {78, 1},
                                        {79, 1},
                                        {80, 1},
                                        {81, kSharedOfSm},
                                        {82, kRegisters},
                                        {83, 1},
                                        {84, 0},
                                        {85, 0},
                                        {86, 0},
                                        {87, 2},
                                        {88, 0},
                                        {89, 1},
                                        {90, 1},
                                        {91, 1},
                                        {95, 0},  // cooperative launches
                                        {97, kSharedOptIn},
                                        {99, 1},
                                        {100, 0},
                                        {101, 0},
                                        {106, kBlocksOfSm},
                                        {108, 0},
                                        {109, 0},
                                        {111, 1024},
                                        {113, 0},
                                        {115, 0},  // memory pools
                                        {120, 0},  // clusters
                                        {134, -1}};

}  // namespace

abi::DeviceProp properties_of(const Device& device) {
  abi::DeviceProp p{};
  constexpr char kName[] = "flashproof: PTX on the CPU";
  std::memcpy(p.name, kName, sizeof kName);
  p.totalGlobalMem = device.memory.most();
  p.sharedMemPerBlock = kSharedOfBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegisters;
  p.warpSize = 32;
  p.memPitch = kPitch;
  p.maxThreadsPerBlock = 1024;
  std::ranges::copy(ptx::kMostThreads, p.maxThreadsDim);
  std::ranges::copy(ptx::kMostBlocks, p.maxGridSize);
  p.totalConstMem = kConstant;
  p.major = static_cast<int>(device.settings.capability / 10);
  p.minor = static_cast<int>(device.settings.capability % 10);
  p.textureAlignment = kAlignment;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = kMultiprocessors;
  p.canMapHostMemory = p.concurrentKernels = p.asyncEngineCount = p.unifiedAddressing = 1;
  p.memoryBusWidth = 5120;
  p.l2CacheSize = kL2;
  p.maxThreadsPerMultiProcessor = kThreadsOfSm;
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = kSharedOfSm;
  p.managedMemory = p.concurrentManagedAccess = p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = p.hostRegisterSupported = 1;
  p.sharedMemPerBlockOptin = kSharedOptIn;
  p.maxBlocksPerMultiProcessor = kBlocksOfSm;
  p.reservedSharedMemPerBlock = 1024;
  p.hostNumaId = -1;
  return p;
}

std::optional<int> attribute_of(const Device& device, int attribute) {
  constexpr int kMajor = 75, kMinor = 76;
  if (attribute == kMajor) return static_cast<int>(device.settings.capability / 10);
  if (attribute == kMinor) return static_cast<int>(device.settings.capability % 10);
  const auto* found = std::ranges::find(kAttributes, attribute, &AttributeRow::number);
  return found == std::end(kAttributes) ? std::nullopt : std::optional(found->value);
}

}  // namespace flashproof::cudart
