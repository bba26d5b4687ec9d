// The memory that a foreign kernel sees: the record of the call, every input, output and the workspace between zones of a known
// pattern, in one block that the judging process and the process of the library share, at the same address in both. After the call
// the judging process copies the block once and reads nothing but that copy: the zones and the inputs must be what they were.
//
// The block is kept from call to call, so that a small call costs microseconds. The library's process may touch no more of it than
// this call uses, however large an earlier one was: the last zone ends where a page does, and behind that page, as before the block,
// any access ends that process, inside the call. It maps the whole range once and has no descriptor of the file behind it: it can
// neither change the file's size nor put another in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plugin/record.h"
#include "reference/system/descriptor.h"

namespace flashproof {

enum class Role : std::uint8_t { input, output, workspace };

struct Region {
  std::string_view name;  // for messages
  Role role;
  const void*
      initial;  // input: its bytes, which must outlive the call; output: what it is poisoned with; workspace: null
  std::size_t bytes;
  std::size_t shift = 0;   // bytes beyond the alignment of kMostAlignment
  std::size_t offset = 0;  // in the block, set by Arena::place()
};

/// A part of the block: bytes begin .. end-1.
struct ByteRange {
  std::size_t begin, end;
};

/// Of a workspace what is filled before a call and looked at after it, in order: all of it up to 8 MiB. Of a larger one 4 MiB at each
/// end, and between them a page of each of at most 4,096 equal steps: the rest holds anything, and costs nothing unless the kernel
/// touches it. Where in its step the page lies is the phase's choice, 0..4095: the parts of all phases together are all of it.
std::vector<ByteRange> filled_parts(std::size_t offset, std::size_t bytes, std::size_t phase);

/// Of a region without a shift, and no more: what cudaMalloc promises.
inline constexpr std::size_t kMostAlignment = 256;

class Arena {
 public:
  /// Throws InfrastructureError.
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Lays the regions out behind the record and fills them; `fill` is every byte of the workspace. Throws InfrastructureError without
  /// memory.
  void place(std::vector<Region>& regions, std::byte fill);
  void write(const CallRecord& record);
  /// As both processes see it.
  std::byte* address(const Region& region) const { return block_ + region.offset; }
  CallRecord* record() const { return reinterpret_cast<CallRecord*>(block_); }
  std::byte* block() const { return block_; }
  int file() const { return file_.get(); }
  /// Bytes of this call: whole pages, from the record to the end of the last zone.
  std::size_t used() const { return used_; }
  /// Another one in every call: of the zones' pattern, and of the parts of a large workspace that are filled.
  std::size_t phase() const { return phase_; }

  /// After the call: the copy that the functions below read. Of the workspace it has the filled parts.
  void copy();
  /// Whether it was written to since copy() and before the next place() or write().
  bool changed() const;
  /// "" if zones and inputs are intact, else what is not: "wrote beyond the last element of o".
  std::string damage(const std::vector<Region>& regions) const;
  /// What the kernel left there.
  const std::byte* result(const Region& region) const { return copy_.get() + region.offset; }
  const CallRecord& left_record() const { return *reinterpret_cast<const CallRecord*>(copy_.get()); }

 private:
  void reserve(std::size_t bytes);
  /// The memory of the last call, as far as it lies beyond 8 MiB: else the filled parts of many calls would add up to all of it.
  void give_back();
  /// What lies between regions, and whether the copy still has it.
  void fill_zone(std::size_t begin, std::size_t end);
  bool is_zone(std::size_t begin, std::size_t end) const;

  Descriptor file_;
  std::byte* mapping_ = nullptr;  // with the pages on both sides
  std::byte* block_ = nullptr;
  std::size_t capacity_ = 0, used_ = 0;
  std::size_t phase_ = 0;
  bool is_copied_ = false;            // the copy is of what must still be there
  std::vector<ByteRange> looked_at_;  // of the block, since place()
  struct Unmap {
    std::size_t bytes;  // 0 as long as there is none
    void operator()(std::byte* address) const;
  };
  std::unique_ptr<std::byte[], Unmap> copy_;  // as much memory as was copied to
};

/// In the process of the library, once: all that the block can ever be, not yet to be touched; a process that it forks does not get
/// it. For one question open_block() makes the bytes usable that its call uses, shut_block() takes them back. False: errno says why.
bool map_block(std::byte* block, int file);
bool open_block(std::byte* block, std::size_t used);
bool shut_block(std::byte* block, std::size_t used);
/// Of the record; what lies behind it is all that a device needs a copy of.
std::size_t record_bytes();

}  // namespace flashproof
