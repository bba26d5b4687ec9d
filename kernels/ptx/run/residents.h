// The blocks of a grid that have begun and not ended: those that wait for one another in loops have to be there at the same time.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/ptx/run/runtime_state.h"

namespace flashproof::ptx {

class Residents {
 public:
  /// Makes room for the first block. Throws UsageError where there is none.
  Residents(Runtime& runtime, const Flow& flow, const Launch& wanted);

  /// Whether one more has room.
  bool has_room() const { return !free_.empty() || (places_.size() + 1) * bytes_ <= kMostBytes; }
  std::size_t most() const { return kMostBytes / bytes_; }
  /// A place for a block that begins; the runtime has it from now on.
  std::size_t begin();
  /// The runtime has the block at this place from now on.
  void bring(std::size_t place);
  /// The block at this place has ended.
  void end(std::size_t place) { free_.push_back(place); }
  std::uint32_t number(std::size_t place) const;

 private:
  static constexpr std::size_t kMostBytes = 1 << 30;
  struct Place {
    BlockState state;
    Races::Block races;
  };
  void make(Place& place) const;
  void exchange(Place& place);

  Runtime& runtime_;
  const Flow& flow_;
  const Launch& wanted_;
  std::size_t bytes_ = 0;  // of a block
  std::vector<Place> places_;
  std::vector<std::size_t> free_;
  std::size_t here_ = 0;  // whose state the runtime has; places_[here_] is empty
};

}  // namespace flashproof::ptx
