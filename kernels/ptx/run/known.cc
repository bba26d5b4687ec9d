#include "kernels/ptx/run/known.h"

#include <algorithm>
#include <bit>

namespace flashproof::ptx {
namespace {

std::uint32_t above(std::uint32_t block, std::uint32_t bit) { return block & ~(2 * bit - 1); }

bool lies_below(const KnownNode& node, std::uint32_t block) {
  return node.bit == 0 ? block == node.block : above(block, node.bit) == node.block;
}

Known inner(std::uint32_t block, std::uint32_t bit, Known low, Known high) {
  return std::make_shared<const KnownNode>(KnownNode{above(block, bit), bit, std::move(low), std::move(high), {}});
}

/// Neither lies below the other.
Known side_by_side(const Known& a, const Known& b) {
  const std::uint32_t bit = std::bit_floor(a->block ^ b->block);
  return (a->block & bit) == 0 ? inner(a->block, bit, a, b) : inner(a->block, bit, b, a);
}

Known with_children(const Known& node, const Known& low, const Known& high) {
  return low == node->low && high == node->high ? node : inner(node->block, node->bit, low, high);
}

/// `lower` lies below the inner node `node`.
Known join_below(const Known& node, const Known& lower) {
  return (lower->block & node->bit) == 0 ? with_children(node, join(node->low, lower), node->high)
                                         : with_children(node, node->low, join(node->high, lower));
}

/// Where two lanes were seen up to different clocks, both count as seen up to the later one: too much, never too little.
Seen both(const Seen& a, const Seen& b) {
  return {std::max(a.all, b.all), std::max(a.some, b.some), a.lanes | b.lanes};
}

Known join_leaves(const Known& a, const Known& b) {
  std::vector<Seen> warps(a->warps.size());
  std::ranges::transform(a->warps, b->warps, warps.begin(), both);
  if (warps == a->warps) return a;
  return warps == b->warps ? b : of_block(a->block, std::move(warps));
}

}  // namespace

Known of_block(std::uint32_t block, std::vector<Seen> warps) {
  return std::make_shared<const KnownNode>(KnownNode{block, 0, nullptr, nullptr, std::move(warps)});
}

Known join(const Known& a, const Known& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (a->bit == b->bit && a->block == b->block) {
    if (a->bit == 0) return join_leaves(a, b);
    const Known low = join(a->low, b->low), high = join(a->high, b->high);
    return low == b->low && high == b->high ? b : with_children(a, low, high);
  }
  if (a->bit > b->bit && lies_below(*a, b->block)) return join_below(a, b);
  if (b->bit > a->bit && lies_below(*b, a->block)) return join_below(b, a);
  return side_by_side(a, b);
}

const std::vector<Seen>* find(const Known& known, std::uint32_t block) {
  const KnownNode* at = known.get();
  while (at != nullptr && at->bit != 0) at = (block & at->bit) == 0 ? at->low.get() : at->high.get();
  return at != nullptr && at->block == block ? &at->warps : nullptr;
}

}  // namespace flashproof::ptx
