// cp.async: what each thread of the block has under way. Eager copies are done when they start; lazy ones wait here.
#include <array>
#include <cstring>
#include <vector>

#include "kernels/simt/block.h"
#include "kernels/simt/cpu/cpu_matrix.h"
#include "kernels/simt/cpu/cpu_memory.h"
#include "kernels/simt/shadow/shadow.h"

namespace flashproof::simt {
namespace {

constexpr std::size_t kCopyBytes = 16;

struct Copy {
  void* to;
  const void* from;
  bool valid;
};

/// Of one thread: copies in the order of their start, and where each committed group ends among them.
struct Copies {
  std::uint64_t block = 0;
  std::vector<Copy> started;
  std::vector<std::size_t> group_end;
};

std::array<Copies, kMaxThreads> copies;
bool lazy = false;

void land(const Copy& copy) {
  if (copy.valid) {
    std::memcpy(copy.to, copy.from, kCopyBytes);
  } else {
    std::memset(copy.to, 0, kCopyBytes);
  }
}

Copies& copies_of(const Thread& self) {
  Copies& mine = copies[self.number];
  if (mine.block != current_block) {  // left behind by an earlier block
    mine.block = current_block;
    mine.started.clear();
    mine.group_end.clear();
  }
  return mine;
}

}  // namespace

void start_block_copies(bool lazy_copies) { lazy = lazy_copies; }

void start_copy(void* to, const void* from, bool valid, const char* file, int line) {
  const Thread& self = running_thread_at("cp_async_16", file, line);
  check_aligned_16(to, "cp_async_16 to", file, line);
  if (valid) check_aligned_16(from, "cp_async_16 from", file, line);
  if (!is_shared(to, kCopyBytes)) {
    throw make_fault(FaultKind::bad_argument, self.site, "the destination is not in shared memory of this block");
  }
  const void* const pc = __builtin_return_address(0);
  if (valid) shadow_read(from, kCopyBytes, pc);
  shadow_async_write(to, kCopyBytes, pc);
  if (!lazy) return land({to, from, valid});
  std::memset(to, 0xff, kCopyBytes);  // neither the old data nor the new
  copies_of(self).started.push_back({to, from, valid});
}

void commit_copies(const char* file, int line) {
  const Thread& self = running_thread_at("cp_async_commit", file, line);
  if (active_shadow != nullptr) shadow_async_commit();
  if (!lazy) return;
  Copies& mine = copies_of(self);
  mine.group_end.push_back(mine.started.size());
}

void wait_for_copies(int pending, const char* file, int line) {
  const Thread& self = running_thread_at("cp_async_wait", file, line);
  if (active_shadow != nullptr) shadow_async_wait(static_cast<std::size_t>(pending));
  if (!lazy) return;
  Copies& mine = copies_of(self);
  const std::size_t groups = mine.group_end.size();
  if (groups <= static_cast<std::size_t>(pending)) return;
  const std::size_t done = groups - static_cast<std::size_t>(pending);
  const std::size_t end = mine.group_end[done - 1];
  for (std::size_t i = 0; i < end; ++i) land(mine.started[i]);
  mine.started.erase(mine.started.begin(), mine.started.begin() + static_cast<std::ptrdiff_t>(end));
  mine.group_end.erase(mine.group_end.begin(), mine.group_end.begin() + static_cast<std::ptrdiff_t>(done));
  for (std::size_t& after : mine.group_end) after -= end;
}

}  // namespace flashproof::simt
