// BlockOrder::any: what is counted along one order, over all of them (README.md, section 9).
#include <algorithm>

#include "reference/bound/attention/attention_visits.h"

namespace flashproof::bound {

// Whatever the order, and whichever neighbours are one chunk: all other chunks may follow a key, or share its own.
void Visits::add_up_any_order() {
  After all;
  std::vector<int> in_lane(lanes_, 0);
  for (std::size_t n = 0; n < visits_.size(); ++n) {
    const Visit& visit = visits_[n];
    all.chunks += visit.keys > 0 ? 1 : 0;
    all.keys += visit.keys;
    all.steps += visit.steps;
    all.segments += visit.segments;
    all.chain += visit.chain;
    for (int lane = 0; lane < lanes_; ++lane) in_lane[lane] += lane_keys_[n * lanes_ + lane];
  }
  after_sink_ = all;
  for (std::size_t n = visits_.size(); n-- > 0;) {
    const Visit& visit = visits_[n];
    after_[n] = {.rises = 0,
                 .chunks = all.chunks - (visit.keys > 0 ? 1 : 0),
                 .keys = all.keys - visit.keys,
                 .steps = all.steps - visit.steps,
                 .segments = all.segments - visit.segments,
                 .chain = all.chain - visit.chain};
    for (int lane = 0; lane < lanes_; ++lane) {
      lane_keys_[(n + 1) * lanes_ + lane] = in_lane[lane] - lane_keys_[n * lanes_ + lane];
    }
  }
  std::ranges::copy(in_lane, lane_keys_.begin());
  lane_chunks_ = lane_keys_;
}

// After follow_frames(), which has the extremes of the part. The frame that a chunk is seen in lies between its own maximum
// (the sink's, if that is higher) and the row's; every other chunk that may lie above it may raise it.
void Visits::allow_any_order() {
  Part& part = parts_.front();
  highs_.clear();
  for (const Visit& visit : visits_) {
    if (visit.keys > 0) highs_.push_back(visit.high);
  }
  std::ranges::sort(highs_);
  const auto above = [&](double frame) {
    return static_cast<int>(highs_.end() - std::ranges::upper_bound(highs_, frame - lag_ * 0x1p-18));
  };
  for (std::size_t n = 0; n < visits_.size(); ++n) {
    Visit& visit = visits_[n];
    if (visit.keys == 0) continue;
    const double least = part.sink ? std::max(part.sink_low, visit.low) : visit.low;
    visit.first = part.chunks == 1 && !part.sink;
    visit.frame_low = least - lag_;
    visit.frame_high = part.high;
    after_[n].rises = above(least) - (visit.high > least - lag_ * 0x1p-18 ? 1 : 0);
  }
  part.rises = part.sink ? above(part.sink_low) : 0;
}

}  // namespace flashproof::bound
