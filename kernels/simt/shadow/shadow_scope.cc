// The shadow over its life: launches, blocks, ranges, reports; and what the rest of the executor calls.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernels/simt/shadow/shadow_state.h"
#include "reference/system/error.h"

namespace flashproof::simt {

constinit thread_local Shadow* active_shadow = nullptr;

namespace {

constinit thread_local Shadow* scoped = nullptr;

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void Shadow::insert(Range range) {
  const auto at = std::ranges::upper_bound(ranges_, range.base, {}, [](const auto& r) { return r->base; });
  ranges_.insert(at, std::make_unique<Range>(std::move(range)));
}

void Shadow::watch(std::string name, Global use, const void* data, std::size_t bytes, std::size_t element_bytes) {
  if (bytes == 0) return;
  Range range;
  range.name = name;
  range.base = number(data);
  range.bytes = bytes;
  range.input = use == Global::input;
  range.counter = traffic_.add(std::move(name), bytes, element_bytes);
  insert(std::move(range));
}

void Shadow::add_shared(std::string name, const void* data, std::size_t bytes) {
  if (bytes == 0) return;
  Range range;
  range.name = std::move(name);
  range.base = number(data);
  range.bytes = bytes;
  range.shared = true;
  range.epoch = epoch_;
  insert(std::move(range));
}

void Shadow::start_launch(std::uint64_t blocks) {
  if (blocks > kMaxShadowBlocks) {
    throw UsageError(fmt::format("race shadow: {} blocks, legal 0..{}", blocks, kMaxShadowBlocks));
  }
  active_shadow = this;
  clock_.start_launch();
  blocks_.clear();
  ++epoch_;
  for (const auto& range : ranges_) {
    range->epoch = epoch_;
    range->atomics.clear();
  }
}

void Shadow::end_launch() {
  active_shadow = nullptr;
  last_ = nullptr;
  for (const auto& range : ranges_) {
    if (!range->shared) continue;
    for (Cell& cell : range->cells) release_lanes(cell);
  }
  std::erase_if(ranges_, [](const auto& range) { return range->shared; });
}

void Shadow::start_block(std::uint32_t ordinal) {
  clock_.start_block(ordinal, block.size);
  blocks_.push_back(blockIdx);
  copies_.clear();
  ++epoch_;
  for (const auto& range : ranges_) {
    if (!range->shared) continue;
    range->epoch = epoch_;
    range->atomics.clear();
  }
}

void Shadow::end_block() {
  if (options_.traffic) traffic_.end_block();
}

std::string Shadow::thread_text(const Mark& mark) const {
  const uint3 at = blocks_[block_of(mark.who)];
  return fmt::format("thread {} of block ({}, {}, {})", number_of(mark.who), at.x, at.y, at.z);
}

void Shadow::report(const Range& range, std::size_t offset, const Mark& earlier, const char* earlier_did,
                    const Mark& now, const char* now_does) {
  ++race_count_;
  const auto [found, is_new] = seen_.try_emplace({range.name, earlier.place, now.place}, races_.size());
  if (!is_new) {
    if (found->second < races_.size()) ++races_[found->second].count;
    return;
  }
  if (races_.size() == ScopedShadow::kMaxRaces) return;
  const std::string memory = fmt::format("{} + {} bytes", range.name, offset);
  std::string text;
  if (earlier_did == nullptr) {
    text = fmt::format("{}: {} {} the input {}", places_.name(now.place), thread_text(now), now_does, memory);
  } else {
    text =
        fmt::format("{}: race on {}: {} {} here, {} {} at {}, and nothing orders the two", places_.name(now.place),
                    memory, thread_text(now), now_does, thread_text(earlier), earlier_did, places_.name(earlier.place));
  }
  races_.push_back({std::move(text), memory, 1});
}

ScopedShadow::ScopedShadow(ShadowOptions options) : shadow_(std::make_unique<Shadow>(options)) {
  if (scoped != nullptr) throw InfrastructureError("race shadow: one is in force already");
  scoped = shadow_.get();
}
ScopedShadow::~ScopedShadow() { scoped = nullptr; }

Shadow* scoped_shadow() { return scoped; }

void ScopedShadow::watch(std::string name, Global use, const void* data, std::size_t bytes, std::size_t element_bytes) {
  shadow_->watch(std::move(name), use, data, bytes, element_bytes);
}
const std::vector<Race>& ScopedShadow::races() const { return shadow_->races(); }
std::uint64_t ScopedShadow::race_count() const { return shadow_->race_count(); }
std::uint64_t ScopedShadow::accesses() const { return shadow_->accesses(); }
std::vector<Traffic> ScopedShadow::traffic() const { return shadow_->traffic(); }

void note_read(const void* address, std::size_t bytes, const void* pc) {
  active_shadow->access(number(address), bytes, AccessKind::read, pc);
}
void note_write(const void* address, std::size_t bytes, const void* pc) {
  active_shadow->access(number(address), bytes, AccessKind::write, pc);
}
void note_atomic(const void* address, std::size_t bytes, const void* pc) {
  active_shadow->access(number(address), bytes, AccessKind::atomic, pc);
}
void shadow_read_for(unsigned thread, const void* address, std::size_t bytes, const void* pc) {
  if (active_shadow != nullptr) {
    active_shadow->access_of(block.threads[thread], number(address), bytes, AccessKind::read, pc);
  }
}
void shadow_async_write(const void* address, std::size_t bytes, const void* pc) {
  if (active_shadow != nullptr) active_shadow->access(number(address), bytes, AccessKind::copy, pc);
}
void shadow_async_commit() {
  if (active_shadow != nullptr) active_shadow->commit_copies();
}
void shadow_async_wait(std::size_t pending) {
  if (active_shadow != nullptr) active_shadow->wait_for_copies(pending, false);
}
void shadow_async_wait_all() {
  if (active_shadow != nullptr) active_shadow->wait_for_copies(0, true);
}
void shadow_fence(bool whole_device) {
  if (active_shadow != nullptr) active_shadow->fence(whole_device);
}

}  // namespace flashproof::simt
