#include "kernels/plugin/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kZone = 4096;  // between regions; a row of some thousand columns
constexpr std::size_t kNoAccess = std::size_t{1} << 24;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kEnd = std::size_t{1} << 22;        // of a large workspace, what is filled at each end
constexpr std::size_t kAddresses = std::size_t{1} << 36;  // a block grows in place
// Bytes that a kernel cannot tell from what may lie around a tensor, and other ones in every call: one that is right only between
// zones shows. Any two or four of them are a small number in f16, bf16 and f32: a kernel that reads its neighbour's zone gets no NaN
// that would hide in one that is there anyway, and a NaN or zero that it writes shows.
const std::vector<std::byte>& pattern() {
  static const std::vector<std::byte> bytes = [] {
    Random random(1, 0x7a6f6e65);
    std::vector<std::byte> drawn(2 * kZone);
    for (std::size_t i = 0; i < kZone; ++i) {
      drawn[i] = drawn[i + kZone] =
          static_cast<std::byte>(random.integer(0x21, 0x2f) | (random.chance(0.5) ? 0x80 : 0));
    }
    return drawn;
  }();
  return bytes;
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// visit(place in the block, size, bytes of the pattern) piece by piece, until it returns false.
template <class Visit>
bool each_piece(std::size_t begin, std::size_t end, std::size_t phase, Visit visit) {
  while (begin < end) {
    const std::size_t size = std::min(kZone, end - begin);
    if (!visit(begin, size, pattern().data() + (begin + phase) % kZone)) return false;
    begin += size;
  }
  return true;
}

[[noreturn]] void no_memory(const std::string& what) {
  const int why = errno;
  throw InfrastructureError("memory for a kernel's call" + what + ": " + std::strerror(why));
}

}  // namespace

std::vector<ByteRange> filled_parts(std::size_t offset, std::size_t bytes, std::size_t phase) {
  constexpr std::size_t kMostSteps = 4096;
  const std::size_t end = offset + bytes;
  if (bytes <= 2 * kEnd) return {{offset, end}};
  std::vector<ByteRange> parts{{offset, (offset + kEnd) / kPage * kPage}};
  const std::size_t last = end - kEnd;
  const std::size_t step = std::max(16 * kPage, rounded_up(bytes / kMostSteps, kPage));
  const std::size_t place = phase % kZone * (step / kPage) / kZone * kPage;  // of the page in its step
  for (std::size_t at = parts.front().end + place; at + kPage <= last; at += step) parts.push_back({at, at + kPage});
  parts.push_back({last, end});
  return parts;
}

std::size_t record_bytes() { return rounded_up(sizeof(CallRecord), kMostAlignment); }

Arena::Arena() : file_(::memfd_create("flashproof-call", MFD_CLOEXEC)) {
  if (!file_) no_memory("");
  void* mapping =
      ::mmap(nullptr, kAddresses + 2 * kNoAccess, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) no_memory(", " + std::to_string(kAddresses) + " bytes of addresses");
  mapping_ = static_cast<std::byte*>(mapping);
  block_ = mapping_ + kNoAccess;
}

Arena::~Arena() { ::munmap(mapping_, kAddresses + 2 * kNoAccess); }

void Arena::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  const std::size_t capacity = rounded_up(bytes + bytes / 2, kPage);
  const std::string size = ", " + std::to_string(bytes) + " bytes";
  errno = ENOMEM;
  if (capacity > kAddresses || ::ftruncate(file_.get(), static_cast<off_t>(capacity)) != 0) no_memory(size);
  if (::mmap(block_, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_.get(), 0) == MAP_FAILED) {
    no_memory(size);
  }
  capacity_ = capacity;
}

void Arena::give_back() {
  constexpr std::size_t begin = 2 * kEnd;
  const std::size_t end = used_;
  if (begin >= end) return;
  // Where the file system or the kernel of the system cannot do it, the memory is kept: nothing else changes.
  ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
              static_cast<off_t>(end - begin));
  const std::size_t copied = std::min(end, copy_.get_deleter().bytes);
  if (begin < copied) ::madvise(copy_.get() + begin, copied - begin, MADV_DONTNEED);
}

void Arena::place(std::vector<Region>& regions, std::byte fill) {
  // Odd: as many calls have another one as a zone has bytes. The golden section of a zone: few calls in a row spread over all of it.
  constexpr std::size_t kNextPhase = 2531;
  is_copied_ = false;
  give_back();
  phase_ = (phase_ + kNextPhase) % kZone;
  used_ = record_bytes();
  for (Region& region : regions) {
    region.offset = rounded_up(used_ + kZone, 2 * kMostAlignment) + kMostAlignment + region.shift;
    used_ = region.offset + region.bytes;
  }
  used_ = rounded_up(used_ + kZone, kPage);
  reserve(used_);
  std::size_t done = record_bytes();
  looked_at_ = {{0, 0}};
  for (const Region& region : regions) {
    fill_zone(done, region.offset);
    done = region.offset + region.bytes;
    if (region.bytes == 0) continue;
    if (region.initial != nullptr) {
      std::memcpy(block_ + region.offset, region.initial, region.bytes);
      continue;
    }
    const std::vector<ByteRange> parts = filled_parts(region.offset, region.bytes, phase_);
    for (const auto& [begin, end] : parts) std::memset(block_ + begin, static_cast<int>(fill), end - begin);
    looked_at_.back().end = parts.front().end;
    looked_at_.insert(looked_at_.end(), parts.begin() + 1, parts.end());
  }
  fill_zone(done, used_);
  looked_at_.back().end = used_;
}

void Arena::fill_zone(std::size_t begin, std::size_t end) {
  each_piece(begin, end, phase_, [&](std::size_t at, std::size_t size, const std::byte* bytes) {
    std::memcpy(block_ + at, bytes, size);
    return true;
  });
}

bool Arena::is_zone(std::size_t begin, std::size_t end) const {
  return each_piece(begin, end, phase_, [&](std::size_t at, std::size_t size, const std::byte* bytes) {
    return std::memcmp(copy_.get() + at, bytes, size) == 0;
  });
}

void Arena::write(const CallRecord& given) {
  is_copied_ = false;
  used_ = std::max(used_, rounded_up(record_bytes(), kPage));
  reserve(used_);
  std::memcpy(block_, &given, sizeof given);
}

void Arena::Unmap::operator()(std::byte* address) const { ::munmap(address, bytes); }

void Arena::copy() {
  if (copy_.get_deleter().bytes < used_) {
    void* const memory =
        ::mmap(nullptr, capacity_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) no_memory(", " + std::to_string(capacity_) + " bytes");
    copy_ = {static_cast<std::byte*>(memory), Unmap{capacity_}};
  }
  for (const auto& [begin, end] : looked_at_) std::memcpy(copy_.get() + begin, block_ + begin, end - begin);
  is_copied_ = true;
}

bool Arena::changed() const {
  return is_copied_ && std::ranges::any_of(looked_at_, [&](const ByteRange& part) {
           return std::memcmp(copy_.get() + part.begin, block_ + part.begin, part.end - part.begin) != 0;
         });
}

bool map_block(std::byte* block, int file) {
  return ::mmap(block, kAddresses, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, 0) != MAP_FAILED &&
         ::madvise(block, kAddresses, MADV_DONTFORK) == 0;
}

bool open_block(std::byte* block, std::size_t used) { return ::mprotect(block, used, PROT_READ | PROT_WRITE) == 0; }

bool shut_block(std::byte* block, std::size_t used) { return ::mprotect(block, used, PROT_NONE) == 0; }

std::string Arena::damage(const std::vector<Region>& regions) const {
  const std::byte* const left = copy_.get();
  const auto found = [](const char* what, std::string_view name) { return what + std::string(name); };
  std::size_t done = record_bytes();
  const Region* before = nullptr;
  for (const Region& region : regions) {
    // The zone between two regions: its nearer half is the neighbour's.
    const std::size_t middle = before == nullptr ? done : done + (region.offset - done) / 2;
    if (before != nullptr && !is_zone(done, middle)) {
      return found("wrote beyond the last element of ", before->name);
    }
    if (!is_zone(middle, region.offset)) {
      return found("wrote before the first element of ", region.name);
    }
    if (region.role == Role::input && region.bytes > 0 &&
        std::memcmp(left + region.offset, region.initial, region.bytes) != 0) {
      return found("wrote to its input ", region.name);
    }
    done = region.offset + region.bytes;
    before = &region;
  }
  if (before != nullptr && !is_zone(done, used_)) {
    return found("wrote beyond the last element of ", before->name);
  }
  return "";
}

}  // namespace flashproof
