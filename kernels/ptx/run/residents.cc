#include "kernels/ptx/run/residents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

/// Of all accesses to memory that threads share the smallest, in bytes: the others are multiples of it.
std::uint64_t least_access(const Layout& layout) {
  std::uint64_t least = 16;
  for (const Site& site : layout.sites) {
    const std::uint64_t bytes = std::uint64_t{site.bytes} * site.count;
    const bool is_common = site.space == Space::shared || site.space == Space::global || site.space == Space::generic;
    if (is_common && bytes != 0) least = std::min(least, bytes);
  }
  return least;
}

/// Whether the code has what orders threads by itself, beside barriers that all come to and collectives.
bool has_fence(const Entry& entry) {
  return std::ranges::any_of(entry.instructions, [](const Instruction& in) {
    static constexpr std::string_view kStarts[] = {"fence", "membar", "mbarrier"},
                                      kParts[] = {".acq", ".release", ".arrive"};
    return std::ranges::any_of(kStarts, [&](std::string_view start) { return in.form.starts_with(start); }) ||
           std::ranges::any_of(kParts, [&](std::string_view part) { return in.form.find(part) != std::string::npos; });
  });
}

bool has_async(const Entry& entry) {
  return std::ranges::any_of(entry.instructions, [](const Instruction& in) {
    return in.form.starts_with("cp.async.bulk") || in.form.starts_with("wgmma");
  });
}

std::size_t warps_of(const Launch& wanted) { return (wanted.block.count() + kLanes - 1) / kLanes; }

void prepare(Warp& warp, std::uint32_t number, std::byte* registers, std::size_t blocks, const Dim& block) {
  warp.number = number;
  warp.registers = registers;
  warp.ready.resize(blocks);
  warp.parked.resize(blocks);
  warp.ready_blocks.resize(blocks / 64 + 1);
  for (std::uint32_t l = 0; l < kLanes; ++l) {
    const std::uint32_t t = kLanes * number + l;
    warp.thread[0][l] = t % block.x;
    warp.thread[1][l] = t / block.x % block.y;
    warp.thread[2][l] = t / block.x / block.y;
  }
}

}  // namespace

Residents::Residents(Runtime& runtime, const Flow& flow, const Launch& wanted)
    : runtime_(runtime), flow_(flow), wanted_(wanted) {
  const Layout& layout = runtime.entry->layout;
  const std::size_t shared = static_cast<std::size_t>(layout.static_shared_bytes) + wanted.dynamic_shared_bytes,
                    warps = warps_of(wanted);
  runtime.races.prepare(warps, least_access(layout), shared, has_fence(flow.entry) || has_async(flow.entry),
                        has_async(flow.entry));
  const auto registers = static_cast<std::size_t>(layout.register_bytes);
  if (registers * warps > (512U << 20)) {
    throw UsageError(fmt::format("{}: {} warps with {} bytes of registers each, legal: at most 512 MiB together",
                                 runtime.entry->file, warps, registers));
  }
  places_.resize(1);
  make(places_[0]);
  bytes_ = 4096 + 2 * shared + 4 * places_[0].races.shared.size() +
           warps * (registers + static_cast<std::size_t>(layout.local_bytes) * kLanes + 9 * flow.blocks.size());
  exchange(places_[0]);
  free_.push_back(0);
}

void Residents::make(Place& place) const {
  const Layout& layout = runtime_.entry->layout;
  const std::size_t warps = warps_of(wanted_);
  const auto registers = static_cast<std::size_t>(layout.register_bytes);
  const auto locals = static_cast<std::size_t>(layout.local_bytes) * warps * kLanes;
  BlockState& made = place.state;
  made.shared.resize(static_cast<std::size_t>(layout.static_shared_bytes) + wanted_.dynamic_shared_bytes);
  made.shared_written.resize(made.shared.size());
  if (locals != 0) made.local.reset(static_cast<std::byte*>(std::calloc(locals, 1)));
  made.registers.reset(static_cast<std::byte*>(std::aligned_alloc(256, std::max<std::size_t>(registers * warps, 256))));
  if ((locals != 0 && !made.local) || !made.registers)
    throw InfrastructureError("no memory for the threads of a block");
  std::memset(made.registers.get(), 0, registers * warps);
  made.warps.resize(warps);
  for (std::size_t i = 0; i < warps; ++i) {
    prepare(made.warps[i], static_cast<std::uint32_t>(i), made.registers.get() + i * registers, flow_.blocks.size(),
            wanted_.block);
  }
  place.races = runtime_.races.new_block();
}

void Residents::exchange(Place& place) {
  std::swap(static_cast<BlockState&>(runtime_), place.state);
  runtime_.races.exchange(place.races);
}

std::size_t Residents::begin() {
  if (free_.empty()) {
    free_.push_back(places_.size());
    make(places_.emplace_back());
  }
  const std::size_t place = free_.back();
  free_.pop_back();
  bring(place);
  return place;
}

void Residents::bring(std::size_t place) {
  if (place != here_) {
    exchange(places_[here_]);
    exchange(places_[place]);
    here_ = place;
  }
  std::memcpy(runtime_.context.block_index, runtime_.block_index, sizeof runtime_.block_index);
}

std::uint32_t Residents::number(std::size_t place) const {
  return place == here_ ? runtime_.races.order.block() : places_[place].races.order.number;
}

}  // namespace flashproof::ptx
