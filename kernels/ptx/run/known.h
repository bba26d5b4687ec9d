// What is ordered before a point of the program: of each warp of each block, up to which clock. An immutable map by block, of which
// all that know the same share the nodes (Okasaki and Gill, Fast Mergeable Integer Maps, 1998), so that a chain of blocks that
// each know all before them costs a path per block.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace flashproof::ptx {

/// Of a warp: what every lane did up to the clock `all`, and what `lanes` did up to `some`.
struct Seen {
  std::uint32_t all = 0, some = 0, lanes = 0;
  bool operator==(const Seen&) const = default;
  /// Whether an access by these lanes is among it; 0: by some lane, it is not known which.
  bool holds(std::uint32_t clock, std::uint32_t by) const {
    return clock <= all || (clock <= some && (by & ~lanes) == 0);
  }
};

struct KnownNode;
/// Null knows nothing.
using Known = std::shared_ptr<const KnownNode>;

/// A leaf is a block's warps; `bit` of an inner node is the highest in which the blocks below differ, `block` what they have above it.
struct KnownNode {
  std::uint32_t block = 0, bit = 0;
  Known low, high;
  std::vector<Seen> warps;
};

Known of_block(std::uint32_t block, std::vector<Seen> warps);
Known join(const Known& a, const Known& b);
/// Null where nothing of the block is known.
const std::vector<Seen>* find(const Known& known, std::uint32_t block);

}  // namespace flashproof::ptx
