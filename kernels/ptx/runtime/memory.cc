#include "kernels/ptx/runtime/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/ptx/runtime/status.h"

namespace flashproof::cudart {
namespace {

constexpr std::uint64_t kPage = 4096, kGuard = 65536, kReserved = std::uint64_t{1} << 40, kFilled = 256U << 20;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }  // NOLINT(performance-no-int-to-ptr)

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

const char* call_of(Place place) {
  switch (place) {
    case Place::host:
      return "cudaMallocHost";
    case Place::managed:
      return "cudaMallocManaged";
    default:
      return "cudaMalloc";
  }
}

/// mincore() knows pages that are there, and only those.
bool is_mapped(std::uint64_t address) {
  unsigned char there = 0;
  return mincore(pointer(address / kPage * kPage), 1, &there) == 0;
}

}  // namespace

void* Memory::allocate(std::uint64_t bytes, Place place) {
  if (bytes == 0) return nullptr;
  if (bytes > free()) {
    throw Refused(memory_allocation,
                  fmt::format("{} bytes, and of {} MiB {} bytes are free (FLASHPROOF_CUDART_MEMORY says how many)",
                              bytes, most_ >> 20, free()));
  }
  const std::uint64_t low = take_addresses(whole_pages(bytes));
  if (mprotect(pointer(low), whole_pages(bytes), PROT_READ | PROT_WRITE) != 0)
    throw Refused(memory_allocation, fmt::format("{} bytes: the system has no room for them", bytes));
  if (bytes <= kFilled) std::memset(pointer(low), 0xff, bytes);
  if (place == Place::device) mprotect(pointer(low), whole_pages(bytes), PROT_NONE);
  used_ += bytes;
  all_[low] = {low, bytes, place, true, true, fmt::format("allocation {} of {}", ++number_, call_of(place))};
  return pointer(low);
}

/// Reserved, not usable yet, with a guard on either side.
std::uint64_t Memory::take_addresses(std::uint64_t bytes) {
  if (next_ == 0 || bytes + 2 * kGuard > end_ - next_) {
    const std::uint64_t room = std::max(kReserved, bytes + 2 * kGuard);
    void* reserved = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw Refused(memory_allocation, "the system has no addresses left");
    next_ = reinterpret_cast<std::uint64_t>(reserved);
    end_ = reserved_[next_] = next_ + room;
  }
  const std::uint64_t low = next_ + kGuard;
  next_ = low + bytes;
  return low;
}

void Memory::add(void* data, std::uint64_t bytes, Place place, bool writable, const std::string& name) {
  const auto low = reinterpret_cast<std::uint64_t>(data);
  all_[low] = {low, bytes, place, writable, true, name};
}

void Memory::release(void* data, bool of_host) {
  if (data == nullptr) return;
  const auto found = all_.find(reinterpret_cast<std::uint64_t>(data));
  const bool is_kind =
      found != all_.end() && (of_host ? found->second.place == Place::host
                                      : found->second.place == Place::device || found->second.place == Place::managed);
  if (!is_kind || !found->second.live) {
    const std::string known =
        found != all_.end() && found->second.live ? found->second.name : words(reinterpret_cast<std::uint64_t>(data));
    throw Refused(invalid_value,
                  fmt::format("{} is no start of such an allocation{}{}", data, known.empty() ? "" : ": ", known));
  }
  Allocation& allocation = found->second;
  allocation.live = false;
  used_ -= allocation.bytes;
  // The pages go back, the addresses stay: who uses them later is told.
  madvise(data, whole_pages(allocation.bytes), MADV_DONTNEED);
  mprotect(data, whole_pages(allocation.bytes), PROT_NONE);
}

void Memory::open(bool is_open) const {
  for (const auto& [low, one] : all_) {
    if (one.live && one.place == Place::device)
      mprotect(pointer(low), whole_pages(one.bytes), is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

void Memory::forget(const void* data) { all_.erase(reinterpret_cast<std::uint64_t>(data)); }

void Memory::release_all() {
  std::erase_if(all_, [](const auto& one) { return one.second.place == Place::registered; });
  for (auto& [low, allocation] : all_) {
    if (allocation.live && allocation.place != Place::variable) release(pointer(low), allocation.place == Place::host);
  }
}

const Allocation* Memory::at_or_below(std::uint64_t address) const {
  auto found = all_.upper_bound(address);
  return found == all_.begin() ? nullptr : &std::prev(found)->second;
}

const Allocation* Memory::holding(const void* data, std::uint64_t bytes) const {
  const auto low = reinterpret_cast<std::uint64_t>(data);
  const Allocation* one = at_or_below(low);
  const bool holds = one != nullptr && one->live && low - one->low <= one->bytes && bytes <= one->high() - low;
  return holds ? one : nullptr;
}

bool Memory::is_of_device(const void* data) const {
  const auto address = reinterpret_cast<std::uint64_t>(data);
  const Allocation* one = at_or_below(address);
  return one != nullptr && address - one->low < one->bytes &&
         (one->place == Place::device || one->place == Place::variable || !one->live);
}

std::vector<ptx::Array> Memory::arrays() const {
  std::vector<ptx::Array> arrays;
  for (const auto& [low, one] : all_) {
    if (one.live)
      arrays.push_back({pointer(low), one.bytes, one.writable, fmt::format("{}, {} bytes", one.name, one.bytes)});
  }
  return arrays;
}

std::string Memory::words(std::uint64_t address) const {
  const Allocation* one = at_or_below(address);
  if (one != nullptr && address - one->low < one->bytes)
    return one->live ? "" : fmt::format("in {}, {} bytes, which was freed", one->name, one->bytes);
  if (address < kGuard) return "a null pointer, or near one";
  // What lies in a guard, or on the last page of a module's variables, has missed an array: the executor names it then.
  const auto region = reserved_.upper_bound(address);
  const bool is_guard = region != reserved_.begin() && address < std::prev(region)->second,
             is_near = one != nullptr && one->place == Place::variable && address < whole_pages(one->high());
  return !is_guard && !is_near && is_mapped(address) ? "memory of the host, which no CUDA call has allocated" : "";
}

}  // namespace flashproof::cudart
