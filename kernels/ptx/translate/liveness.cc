// What a block reads and writes, and what lives across blocks.
#include <algorithm>
#include <iterator>
#include <span>

#include "kernels/ptx/translate/calls.h"
#include "kernels/ptx/translate/flow.h"

namespace flashproof::ptx {
namespace {

void make_set(std::vector<int>& list) {
  std::ranges::sort(list);
  const auto rest = std::ranges::unique(list);
  list.erase(rest.begin(), rest.end());
}

/// A set of registers is some words of 64 bits.
std::uint64_t bit_of(int reg) { return 1ULL << (reg % 64); }
std::size_t word_of(int reg) { return static_cast<std::size_t>(reg) / 64; }

class Liveness {
 public:
  explicit Liveness(Flow& flow)
      : flow_(flow),
        count_(flow.blocks.size()),
        words_(flow.entry.registers.size() / 64 + 1),
        written_in_(flow.entry.registers.size(), count_),
        in_(words_ * count_),
        live_(words_) {}

  /// Backwards until nothing changes.
  void find() {
    for (std::size_t b = 0; b < count_; ++b) find_reads_and_writes(b);
    const std::vector<std::size_t> order = behind_first();
    std::vector<bool> waits(count_, true);
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t b : order) {
        if (!waits[b]) continue;
        waits[b] = false;
        if (!update(b)) continue;
        for (const std::size_t earlier : before_[b]) changed = waits[earlier] = true;
      }
    }
    keep();
  }

 private:
  void find_reads_and_writes(std::size_t b) {
    Block& block = flow_.blocks[b];
    const auto look = [&](std::size_t i, bool read, bool write) {
      const Effects& effects = flow_.checked[i].effects;
      for (const int r : effects.reads) {
        if (read && written_in_[static_cast<std::size_t>(r)] != b) block.reads.push_back(r);
      }
      for (const int r : effects.writes) {
        if (!write) continue;
        written_in_[static_cast<std::size_t>(r)] = b;
        block.writes.push_back(r);
      }
    };
    const bool behind_call =
        block.result >= 0 && flow_.checked[static_cast<std::size_t>(block.result)].form->name == kCall;
    if (block.result >= 0 && !behind_call) look(static_cast<std::size_t>(block.result), false, true);
    for (std::size_t i = block.begin; i < block.end; ++i) look(i, true, true);
    if (block.last >= 0) look(static_cast<std::size_t>(block.last), true, block.how == Block::End::call);
    make_set(block.reads);
    make_set(block.writes);
  }

  std::vector<std::size_t> next(std::size_t b) const {
    std::vector<std::size_t> list;
    if (flow_.blocks[b].falls && b + 1 < count_) list.push_back(b + 1);
    if (flow_.blocks[b].target >= 0) list.push_back(static_cast<std::size_t>(flow_.blocks[b].target));
    return list;
  }

  /// Every block, those that it goes on with first, but for loops: so a round looks at most blocks when they are done.
  std::vector<std::size_t> behind_first() {
    before_.resize(count_);
    std::vector<std::vector<std::size_t>> left(count_);
    for (std::size_t b = 0; b < count_; ++b) {
      left[b] = next(b);
      for (const std::size_t later : left[b]) before_[later].push_back(b);
    }
    std::vector<bool> seen(count_);
    std::vector<std::size_t> order, open;
    for (std::size_t root = 0; root < count_; ++root) {
      if (!seen[root]) open.push_back(root);
      seen[root] = true;
      while (!open.empty()) {
        const std::size_t b = open.back();
        if (left[b].empty()) {
          order.push_back(b);
          open.pop_back();
          continue;
        }
        const std::size_t later = left[b].back();
        left[b].pop_back();
        if (!seen[later]) open.push_back(later);
        seen[later] = true;
      }
    }
    return order;
  }

  std::uint64_t* in(std::size_t b) { return in_.data() + b * words_; }

  /// The registers that are live behind the block, into live_.
  void look_behind(std::size_t b) {
    std::ranges::fill(live_, 0);
    for (const std::size_t later : next(b)) {
      for (std::size_t w = 0; w < words_; ++w) live_[w] |= in(later)[w];
    }
  }

  /// Whether more registers are live in front of the block than was known.
  bool update(std::size_t b) {
    look_behind(b);
    for (const int r : flow_.blocks[b].writes) live_[word_of(r)] &= ~bit_of(r);
    for (const int r : flow_.blocks[b].reads) live_[word_of(r)] |= bit_of(r);
    if (std::ranges::equal(live_, std::span(in(b), words_))) return false;
    std::ranges::copy(live_, in(b));
    return true;
  }

  void keep() {
    std::vector<std::uint64_t> across(words_);
    for (std::size_t b = 0; b < count_; ++b) {
      Block& block = flow_.blocks[b];
      look_behind(b);
      for (std::size_t w = 0; w < words_; ++w) across[w] |= in(b)[w] | live_[w];
      std::ranges::copy_if(block.writes, std::back_inserter(block.stored),
                           [&](int r) { return (live_[word_of(r)] & bit_of(r)) != 0; });
    }
    for (std::size_t r = 0; r < flow_.entry.registers.size(); ++r)
      flow_.across.push_back((across[r / 64] >> (r % 64) & 1) != 0);
    const std::span at_start(in(static_cast<std::size_t>(flow_.start)), words_);
    flow_.reads_unwritten = std::ranges::any_of(at_start, [](std::uint64_t word) { return word != 0; });
  }

  Flow& flow_;
  std::size_t count_, words_;
  std::vector<std::size_t> written_in_;           // by register: the last block that was seen to write it
  std::vector<std::uint64_t> in_, live_;          // registers that are live in front of each block; of one block
  std::vector<std::vector<std::size_t>> before_;  // of each block those that go on with it
};

}  // namespace

void find_live(Flow& flow) { Liveness(flow).find(); }

}  // namespace flashproof::ptx
