#include "kernels/ptx/run/bulk_copies.h"

#include <algorithm>
#include <cstring>

#include "kernels/ptx/run/runtime_state.h"

namespace flashproof::ptx {
namespace {

void arrive(Runtime& runtime, const BulkCopy& copy) {
  for (const BoxPart& part : copy.parts) {
    std::byte* to = runtime.shared.data() + part.shared;
    part.global != nullptr ? static_cast<void>(std::memcpy(to, part.global, part.bytes))
                           : static_cast<void>(std::memset(to, 0, part.bytes));
    std::memset(runtime.shared_written.data() + part.shared, 1, part.bytes);
  }
  ++runtime.changes;
  Mbarrier* barrier = runtime.mbarriers.find(copy.mbarrier);
  if (barrier == nullptr) {
    return runtime.find(copy.line, "a bulk copy arrives whose mbarrier was invalidated before", -1);
  }
  barrier->bytes -= static_cast<std::int64_t>(copy.bytes);
  barrier->arriving.join(runtime.races.order.finished(copy.clock));
  barrier->go_on_if_complete();
}

}  // namespace

void BulkCopies::clear() {
  loading_.clear();
  threads_.clear();
}

void BulkCopies::start(Runtime& runtime, BulkCopy copy) {
  if (loading_.size() == kMostUnderWay) {  // the oldest has arrived, as it may on hardware
    arrive(runtime, loading_.front().copy);
    loading_.erase(loading_.begin());
  }
  for (const BoxPart& part : copy.parts) {
    std::memset(runtime.shared.data() + part.shared, 0xff, part.bytes);
    std::memset(runtime.shared_written.data() + part.shared, 0, part.bytes);
  }
  loading_.push_back({std::move(copy), {}});
}

void BulkCopies::hurry(Runtime& runtime, std::uint64_t mbarrier) {
  for (std::size_t i = 0; i < loading_.size();) {
    Loading& loading = loading_[i];
    const bool is_second = std::ranges::find(loading.looked, runtime.warp->number) != loading.looked.end();
    if (loading.copy.mbarrier != mbarrier || !is_second) {
      if (loading.copy.mbarrier == mbarrier) loading.looked.push_back(runtime.warp->number);
      ++i;
      continue;
    }
    const BulkCopy copy = std::move(loading.copy);
    loading_.erase(loading_.begin() + static_cast<std::ptrdiff_t>(i));
    arrive(runtime, copy);
  }
}

bool BulkCopies::has_room(std::uint32_t thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() || found->second.under_way.size() < kMostUnderWay;
}

std::uint32_t BulkCopies::wait(Runtime& runtime, std::uint32_t thread, std::uint64_t pending, bool for_reads) {
  Thread& mine = threads_[thread];
  std::uint32_t clock = 0;
  if (mine.committed <= pending) return clock;
  const std::uint64_t still = mine.committed - pending;
  for (Storing& storing : mine.under_way) {
    if (storing.group >= still) continue;
    if (!std::exchange(storing.is_done, true)) {
      for (const BoxPart& part : storing.copy.parts)
        std::memcpy(part.global, runtime.shared.data() + part.shared, part.bytes);
      ++runtime.changes;
    }
    clock = std::max(clock, storing.copy.clock - (for_reads ? 1 : 0));
  }
  if (!for_reads) std::erase_if(mine.under_way, [&](const Storing& storing) { return storing.group < still; });
  return clock;
}

void BulkCopies::end(Runtime& runtime) {
  for (const Loading& loading : loading_) {
    runtime.find(loading.copy.line, "the block ends while this copy writes into its shared memory", -1, true);
  }
  for (auto& [thread, mine] : threads_) {
    for (const Storing& storing : mine.under_way) {
      if (storing.is_done) continue;
      runtime.find(storing.copy.line,
                   "the block ends while this copy reads its shared memory: a wait for its group is missing", -1, true);
    }
    ++mine.committed;
    wait(runtime, thread, 0, false);
  }
}

bool BulkCopies::write(std::uint64_t low, std::uint64_t high) const {
  return std::ranges::any_of(loading_, [&](const Loading& loading) {
    return std::ranges::any_of(
        loading.copy.parts, [&](const BoxPart& part) { return part.shared < high && low < part.shared + part.bytes; });
  });
}

}  // namespace flashproof::ptx
