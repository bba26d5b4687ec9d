#include "kernels/simt/cpu/shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/simt/block.h"
#include "kernels/simt/cpu/cpu_matrix.h"
#include "kernels/simt/cpu/cpu_memory.h"
#include "kernels/simt/cpu/launch_checks.h"
#include "kernels/simt/shadow/shadow_state.h"
#include "reference/system/error.h"

namespace flashproof::simt {
namespace {

constexpr std::uint64_t kOutside = 0;   // current_block outside a kernel
constexpr std::size_t kAlignment = 16;  // what FP_SHARED and FP_DYNAMIC_SHARED promise

std::vector<SharedSlot*> slots;  // with memory, in this launch
std::size_t static_bytes = 0;
std::size_t dynamic_bytes = 0;
std::uint64_t blocks_started = 0;

void* allocate(std::size_t bytes, std::size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < kAlignment ? kAlignment : alignment, bytes) != 0) {
    throw InfrastructureError("executor: no memory for a shared array of " + std::to_string(bytes) + " bytes");
  }
  return memory;
}

}  // namespace

std::uint64_t current_block = kOutside;
void* current_dynamic_shared = nullptr;

SharedMemory::SharedMemory(std::size_t bytes) {
  if (bytes > 0) current_dynamic_shared = allocate(bytes, kAlignment);
  dynamic_bytes = bytes;
}

SharedMemory::~SharedMemory() {
  for (SharedSlot* const slot : slots) {
    std::free(slot->memory);
    *slot = SharedSlot{slot->name};
  }
  slots.clear();
  std::free(current_dynamic_shared);
  current_dynamic_shared = nullptr;
  static_bytes = dynamic_bytes = 0;
  current_block = kOutside;
}

void start_block_memory() {
  current_block = ++blocks_started;
  if (dynamic_bytes > 0) std::memset(current_dynamic_shared, 0xff, dynamic_bytes);
}

void attach_shared(SharedSlot& slot, std::size_t bytes, std::size_t alignment, const char* file, int line) {
  const CallSite site{"shared array", file, line};
  if (block.current == nullptr) fail_outside(site);
  if (slot.memory == nullptr) {
    if (static_bytes + bytes > kMaxStaticSharedBytes || static_bytes + bytes + dynamic_bytes > kMaxDynamicSharedBytes) {
      throw make_fault(FaultKind::bad_launch, site,
                       std::to_string(static_bytes + bytes) + " bytes static and " + std::to_string(dynamic_bytes) +
                           " bytes dynamic shared memory; legal are " + std::to_string(kMaxStaticSharedBytes) +
                           " static and " + std::to_string(kMaxDynamicSharedBytes) + " together");
    }
    slots.push_back(&slot);
    slot.memory = allocate(bytes, alignment);
    slot.bytes = bytes;
    static_bytes += bytes;
    if (active_shadow != nullptr) active_shadow->add_shared(slot.name, slot.memory, bytes);
  }
  std::memset(slot.memory, 0xff, bytes);
  slot.block = current_block;
}

bool is_shared(const void* p, std::size_t bytes) {
  const auto inside = [&](const void* memory, std::size_t size) {
    const auto at = reinterpret_cast<std::uintptr_t>(p), begin = reinterpret_cast<std::uintptr_t>(memory);
    return memory != nullptr && at >= begin && at - begin <= size && bytes <= size - (at - begin);
  };
  if (inside(current_dynamic_shared, dynamic_bytes)) return true;
  return std::ranges::any_of(
      slots, [&](const SharedSlot* slot) { return slot->block == current_block && inside(slot->memory, slot->bytes); });
}

void fail_misaligned(const void* p, const char* what, const char* file, int line) {
  throw make_fault(
      FaultKind::misaligned, {what, file, line},
      "address is " + std::to_string(reinterpret_cast<std::uintptr_t>(p) % 16) + " bytes past a multiple of 16");
}

}  // namespace flashproof::simt
