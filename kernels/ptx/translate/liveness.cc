// What a block reads and writes, and what lives across blocks.
#include <bit>

#include "kernels/ptx/translate/calls.h"
#include "kernels/ptx/translate/flow.h"

namespace flashproof::ptx {
namespace {

std::vector<int> sorted(const std::vector<bool>& set) {
  std::vector<int> list;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i]) list.push_back(static_cast<int>(i));
  }
  return list;
}

void find_reads_and_writes(const Flow& flow, Block& block) {
  std::vector<bool> reads(flow.entry.registers.size()), writes(flow.entry.registers.size());
  const auto look = [&](std::size_t i, bool read, bool write) {
    const Effects& effects = flow.checked[i].effects;
    for (const int r : effects.reads) {
      if (read && !writes[static_cast<std::size_t>(r)]) reads[static_cast<std::size_t>(r)] = true;
    }
    for (const int r : effects.writes) {
      if (write) writes[static_cast<std::size_t>(r)] = true;
    }
  };
  const bool behind_call =
      block.result >= 0 && flow.checked[static_cast<std::size_t>(block.result)].form->name == kCall;
  if (block.result >= 0 && !behind_call) look(static_cast<std::size_t>(block.result), false, true);
  for (std::size_t i = block.begin; i < block.end; ++i) look(i, true, true);
  if (block.last >= 0) look(static_cast<std::size_t>(block.last), true, block.how == Block::End::call);
  block.reads = sorted(reads);
  block.writes = sorted(writes);
}

}  // namespace

/// Backwards until nothing changes. Sets of bits, a word of 64 registers at a time.
void find_live(Flow& flow) {
  for (Block& block : flow.blocks) find_reads_and_writes(flow, block);
  const std::size_t words = flow.entry.registers.size() / 64 + 1;
  const std::size_t count = flow.blocks.size();
  std::vector<std::uint64_t> reads(words * count), writes(words * count), in(words * count), out(words * count);
  const auto put = [&](std::vector<std::uint64_t>& set, std::size_t block, const std::vector<int>& registers) {
    for (const int r : registers) set[block * words + static_cast<std::size_t>(r) / 64] |= 1ULL << (r % 64);
  };
  for (std::size_t b = 0; b < count; ++b) {
    put(reads, b, flow.blocks[b].reads);
    put(writes, b, flow.blocks[b].writes);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = count; b-- > 0;) {
      const int target = flow.blocks[b].target;
      for (std::size_t w = 0; w < words; ++w) {
        std::uint64_t live = flow.blocks[b].falls && b + 1 < count ? in[(b + 1) * words + w] : 0;
        if (target >= 0) live |= in[static_cast<std::size_t>(target) * words + w];
        out[b * words + w] = live;
        live = reads[b * words + w] | (live & ~writes[b * words + w]);
        changed |= live != in[b * words + w];
        in[b * words + w] = live;
      }
    }
  }
  const auto list = [&](const std::vector<std::uint64_t>& set, std::size_t b) {
    std::vector<int> registers;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = set[b * words + w]; bits != 0; bits &= bits - 1) {
        registers.push_back(static_cast<int>(64 * w) + std::countr_zero(bits));
      }
    }
    return registers;
  };
  for (std::size_t b = 0; b < count; ++b) {
    flow.blocks[b].live_in = list(in, b);
    flow.blocks[b].live_out = list(out, b);
  }
}

}  // namespace flashproof::ptx
