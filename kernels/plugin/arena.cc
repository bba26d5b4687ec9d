#include "kernels/plugin/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernels/plugin/device_driver.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kZone = 4096;      // between regions; a row of some thousand columns
constexpr std::size_t kAlignment = 256;  // what cudaMalloc promises
constexpr std::size_t kNoAccess = std::size_t{1} << 24;
constexpr std::size_t kPage = 4096;
// 0xa5a5 is a number in f16, bf16 and f32 (tiny, negative): a kernel that reads its neighbour's zone gets no NaN that would hide in
// one that is there anyway, and a NaN or zero that it writes shows.
constexpr int kPattern = 0xa5;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

bool is_pattern(const std::byte* begin, const std::byte* end) {
  static const std::vector<std::byte> pattern(kZone, std::byte{kPattern});
  for (; begin < end; begin += kZone) {
    const auto size = std::min<std::size_t>(kZone, static_cast<std::size_t>(end - begin));
    if (std::memcmp(begin, pattern.data(), size) != 0) return false;
  }
  return true;
}

}  // namespace

Arena::~Arena() { release(); }

void Arena::release() {
  if (device_ && seen_ != nullptr) device::release(seen_);
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
  mapping_ = host_ = seen_ = nullptr;
  capacity_ = 0;
}

void Arena::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  release();
  const std::size_t capacity = rounded_up(bytes + bytes / 2, kPage);
  mapped_ = capacity + 2 * kNoAccess;
  void* mapping = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw InfrastructureError("memory for a kernel's call, " + std::to_string(bytes) +
                              " bytes: " + std::strerror(errno));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  host_ = mapping_ + kNoAccess;
  if (::mprotect(host_, capacity, PROT_READ | PROT_WRITE) != 0) {
    throw InfrastructureError(std::string("memory for a kernel's call: ") + std::strerror(errno));
  }
  seen_ = device_ ? static_cast<std::byte*>(device::allocate(capacity)) : host_;
  capacity_ = capacity;
}

void Arena::place(std::vector<Region>& regions, std::byte fill) {
  used_ = kZone;
  for (Region& region : regions) {
    region.offset = used_;
    used_ += rounded_up(region.bytes, kAlignment) + kZone;
  }
  reserve(used_);
  std::size_t done = 0;
  for (const Region& region : regions) {
    std::memset(host_ + done, kPattern, region.offset - done);
    done = region.offset + region.bytes;
    if (region.bytes == 0) continue;
    if (region.initial != nullptr) {
      std::memcpy(host_ + region.offset, region.initial, region.bytes);
    } else {
      std::memset(host_ + region.offset, static_cast<int>(fill), region.bytes);
    }
  }
  std::memset(host_ + done, kPattern, used_ - done);
  if (device_) device::upload(seen_, host_, used_);
}

std::string Arena::damage(const std::vector<Region>& regions) {
  if (device_) device::download(host_, seen_, used_);
  const auto found = [](const char* what, std::string_view name) { return what + std::string(name); };
  std::size_t done = 0;
  const Region* before = nullptr;
  for (const Region& region : regions) {
    // The zone between two regions: its nearer half is the neighbour's.
    const std::size_t middle = before == nullptr ? done : done + (region.offset - done) / 2;
    if (before != nullptr && !is_pattern(host_ + done, host_ + middle)) {
      return found("wrote beyond the last element of ", before->name);
    }
    if (!is_pattern(host_ + middle, host_ + region.offset)) {
      return found("wrote before the first element of ", region.name);
    }
    if (region.role == Role::input && region.bytes > 0 &&
        std::memcmp(host_ + region.offset, region.initial, region.bytes) != 0) {
      return found("wrote to its input ", region.name);
    }
    done = region.offset + region.bytes;
    before = &region;
  }
  if (before != nullptr && !is_pattern(host_ + done, host_ + used_)) {
    return found("wrote beyond the last element of ", before->name);
  }
  return "";
}

}  // namespace flashproof
