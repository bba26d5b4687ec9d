// The memory that a foreign kernel sees: every input, output and the workspace between zones of a known pattern, in one block
// of its own, away from the harness's heap. After the call the zones and the inputs must be what they were.
//
// The block is kept from call to call, so that a small call costs microseconds. On the host it lies between pages that nobody
// may touch: a write further off than a zone ends the process there, inside the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

enum class Role : std::uint8_t { input, output, workspace };

struct Region {
  std::string_view name;  // for messages
  Role role;
  const void*
      initial;  // input: its bytes, which must outlive the call; output: what it is poisoned with; workspace: null
  std::size_t bytes;
  std::size_t offset = 0;  // in the block, set by Arena::place()
};

class Arena {
 public:
  /// device: the block that the kernel sees lies in the memory of CUDA device 0, a copy of one on the host.
  explicit Arena(bool device) : device_(device) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Lays the regions out and fills them; `fill` is every byte of the workspace. Throws InfrastructureError without memory.
  void place(std::vector<Region>& regions, std::byte fill);
  /// As the kernel sees it, aligned to 256 bytes.
  void* address(const Region& region) const { return seen_ + region.offset; }
  /// After the call. "" if zones and inputs are intact, else what is not: "wrote beyond the last element of o". From a device
  /// everything is copied back first: throws KernelFault, InfrastructureError as device_driver.h does.
  std::string damage(const std::vector<Region>& regions);
  /// What the kernel left there.
  const std::byte* result(const Region& region) const { return host_ + region.offset; }

 private:
  void reserve(std::size_t bytes);
  void release();

  bool device_;
  std::byte* mapping_ = nullptr;  // with the pages on both sides
  std::size_t mapped_ = 0;
  std::byte* host_ = nullptr;
  std::byte* seen_ = nullptr;  // host_, or the block on the device
  std::size_t capacity_ = 0, used_ = 0;
};

}  // namespace flashproof
