#include "kernels/ptx/run/runtime_state.h"

#include <fmt/format.h>

#include <bit>

namespace flashproof::ptx {

void Warp::add(int block, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto b = static_cast<std::size_t>(block);
  ready_count += ready[b] == 0 ? 1 : 0;
  ready[b] |= lanes;
  ready_blocks[b / 64] |= 1ULL << (b % 64);
}

void Warp::park(int block, std::uint32_t lanes) {
  if (lanes == 0) return;
  parked_count += parked[static_cast<std::size_t>(block)] == 0 ? 1 : 0;
  parked[static_cast<std::size_t>(block)] |= lanes;
}

int Warp::take(std::uint32_t& lanes) {
  std::size_t word = static_cast<std::size_t>(from) / 64;
  std::uint64_t bits = ready_blocks[word] & ~0ULL << (from % 64);
  while (bits == 0) {
    word = word + 1 < ready_blocks.size() ? word + 1 : 0;
    bits = ready_blocks[word];
  }
  from = 0;
  const std::size_t b = 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
  ready_blocks[word] &= ~(1ULL << (b % 64));
  lanes = ready[b] | parked[b];
  parked_count -= parked[b] != 0 ? 1 : 0;
  ready[b] = parked[b] = 0;
  --ready_count;
  return static_cast<int>(b);
}

void Runtime::find(int line, const std::string& what, int lane, bool goes_on, FindingKind kind) {
  if (!goes_on) context.budget = kNoBudget;
  if (result.findings.size() == kMaxFindings || !lines_found.insert(line).second) return;
  std::string where =
      fmt::format("in block ({}, {}, {})", context.block_index[0], context.block_index[1], context.block_index[2]);
  if (lane >= 0) {
    const auto& t = warp->thread;
    where += fmt::format(", thread ({}, {}, {})", t[0][lane], t[1][lane], t[2][lane]);
  } else if (warp != nullptr) {
    where += fmt::format(", warp {}", warp->number);
  }
  result.findings.push_back({fmt::format("{}: {}, {}", entry->place(line), what, where), line, kind});
}

void Runtime::observe(std::uint32_t site, std::uint64_t hash) {
  if (warp->seen.empty()) warp->seen.resize(entry->layout.sites.size());
  news += warp->seen[site] != hash ? 1 : 0;
  warp->seen[site] = hash;
}

const Range* Runtime::range(std::uint64_t low, std::uint64_t high) {
  if (high < low) return nullptr;
  const auto holds = [&](std::size_t i) { return low >= ranges[i].low && high <= ranges[i].high; };
  if (last_range < ranges.size() && holds(last_range)) return &ranges[last_range];
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (holds(i)) return &ranges[last_range = i];
  }
  return nullptr;
}

}  // namespace flashproof::ptx
