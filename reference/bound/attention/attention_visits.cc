#include "reference/bound/attention/attention_visits.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "reference/bound/declare/declaration.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// max (s − D) and max (s + D). Lane by lane: a plain maximum is no vector code.
void extremes(const double* score, const double* error, std::size_t n, double& low, double& high) {
  constexpr std::size_t kLanes = 8;
  double lows[kLanes], highs[kLanes];
  std::fill(lows, lows + kLanes, -kInfinity);
  std::fill(highs, highs + kLanes, -kInfinity);
  std::size_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const double least = score[j + i] - error[j + i], most = score[j + i] + error[j + i];
      lows[i] = least > lows[i] ? least : lows[i];
      highs[i] = most > highs[i] ? most : highs[i];
    }
  }
  for (; j < n; ++j) {
    lows[0] = std::max(lows[0], score[j] - error[j]);
    highs[0] = std::max(highs[0], score[j] + error[j]);
  }
  low = *std::max_element(lows, lows + kLanes);
  high = *std::max_element(highs, highs + kLanes);
}

}  // namespace

Visits::Visits(const AttentionProblem& p, const Arithmetic& a, const ScoreScale& scale)
    : a_(a),
      resident_(a.reduction == Reduction::row_resident),
      any_order_(a.visits == BlockOrder::any),
      lanes_(a.lanes) {
  // fl(fl(max − f)·ĉ) > T: two roundings, and ĉ's own error.
  const double threshold = in_nats({static_cast<double>(a.lazy_log2)}).count;
  const double doubt = 0x1p-20 + 2 * std::min(scale.c_error, 1.0);
  lag_ = threshold * (1 + doubt);
  // A flushed difference is no rise, however many octaves a large unit makes of it.
  if (threshold > 0) lag_ += scale.flushed_difference(a).count;
  least_rise_ = threshold * std::max(1 - doubt, 0.0);
  const ChunkPlan plan = resident_ ? ChunkPlan() : visited_plan(p.plan, a);
  if (a.per_key) {
    boundary_ = {0};
    for (const std::int32_t chunk : plan.order) {
      for (std::int64_t j = plan.boundary[chunk]; j < plan.boundary[chunk + 1]; ++j) {
        chunk_of_visit_.push_back(static_cast<int>(j));
        boundary_.push_back(static_cast<std::int64_t>(boundary_.size()));
      }
    }
  } else if (!resident_) {
    boundary_.assign(plan.boundary.begin(), plan.boundary.end());
    chunk_of_visit_.assign(plan.order.begin(), plan.order.end());
  } else {
    chunk_of_visit_ = {0};  // one sum over all keys, in key order
  }
  visit_of_chunk_.resize(chunk_of_visit_.size());
  for (std::size_t n = 0; n < chunk_of_visit_.size(); ++n) visit_of_chunk_[chunk_of_visit_[n]] = static_cast<int>(n);
  chain_seen_.resize(a.values.chains);
  plan_parts();
}

void Visits::plan_parts() {
  const auto chunks = static_cast<std::int64_t>(chunk_of_visit_.size());
  const std::int64_t count = a_.split.parts;
  part_of_visit_.resize(chunks);
  for (std::int64_t part = 0; part < count; ++part) {
    Part& made = parts_.emplace_back();
    made.begin = static_cast<int>(part * chunks / count);
    made.end = static_cast<int>((part + 1) * chunks / count);
    std::fill(part_of_visit_.begin() + made.begin, part_of_visit_.begin() + made.end, static_cast<int>(part));
  }
}

void Visits::place_keys(const Leaves& leaves) {
  const Products& values = a_.values;
  const bool unit = values.unit.k > 0;
  const int k = std::max(values.unit.k, 1);
  const std::int64_t segment = values.promote > 0 ? values.promote : std::numeric_limits<std::int64_t>::max();
  const std::int64_t steps_of_segment = values.promote > 0 ? (values.promote + k - 1) / k : 0;
  auto c = static_cast<std::int64_t>(boundary_.size()) - 1;  // one above the chunk of the key before
  std::int64_t last_step = -1, last_segment = -1;
  int entered = -1;
  for (std::size_t j = leaves.size(); j-- > 0;) {
    KeyVisit& place = places_[j];
    const std::int64_t key = leaves.key[j];
    if (key < 0) {
      place = {};
      continue;
    }
    while (key < boundary_[c]) --c;
    const int n = visit_of_chunk_[c];
    if (n != entered) {
      entered = n;
      visits_[n].end = j + 1;
      last_step = last_segment = -1;
      std::ranges::fill(chain_seen_, 0);
    }
    Visit& visit = visits_[n];
    const std::int64_t position = key - boundary_[c];
    if (unit) {
      const std::int64_t in_segment = position / segment;
      const std::int64_t step = in_segment * steps_of_segment + position % segment / k;
      visit.steps += step != last_step ? 1 : 0;
      visit.segments += in_segment != last_segment ? 1 : 0;
      last_step = step;
      last_segment = in_segment;
    }
    ++visit.keys;
    visit.begin = j;
    const auto chain = values.chains == 1 ? 0 : static_cast<std::size_t>(position % values.chains);
    const auto lane = static_cast<int>(position / a_.deal & (lanes_ - 1));  // lane_at(); powers of two
    place = {.visit = n,
             .lane = lane,
             .rest_of_chain = ++chain_seen_[chain],
             .rest_of_lane = ++lane_keys_[n * lanes_ + lane],
             .rest_of_steps = visit.steps,
             .rest_of_segments = visit.segments};
    visit.chain = any_order_ ? std::max(visit.chain, place.rest_of_chain) : chain_seen_[0];
  }
}

void Visits::measure(const Leaves& leaves) {
  for (Visit& visit : visits_) {
    if (visit.keys == 0) continue;
    extremes(&leaves.score[visit.begin], &leaves.score_error[visit.begin], visit.end - visit.begin, visit.low,
             visit.high);
  }
}

void Visits::follow_frames(const Leaves& leaves) {
  const bool has_sink = leaves.size() > 0 && leaves.key[0] < 0;
  for (Part& part : parts_) {
    part.low = part.high = part.highest = part.runner_up = -kInfinity;
    part.rises = part.chunks = part.keys = 0;
    part.sink = has_sink && &part == parts_.data();
    if (part.sink) {
      part.low = leaves.score[0] - leaves.score_error[0];
      part.high = leaves.score[0] + leaves.score_error[0];
      part.keys = 1;
      part.highest = part.high;
      part.sink_low = part.low;
    }
    for (int n = part.begin; n < part.end; ++n) {
      Visit& visit = visits_[n];
      if (visit.keys == 0) continue;
      visit.first = part.high == -kInfinity;
      visit.rises = !resident_ && !visit.first && visit.high > part.low - lag_ * 0x1p-18;
      visit.below = !visit.first && visit.low < part.high;
      part.runner_up = std::max(part.runner_up, std::min(part.highest, visit.high));
      part.highest = std::max(part.highest, visit.high);
      part.low = std::max(part.low, visit.low);
      part.high = std::max(part.high, visit.high);
      visit.frame_low = part.low - lag_;
      visit.frame_high = part.high;
      part.rises += visit.rises ? 1 : 0;
      part.keys += visit.keys;
      ++part.chunks;
    }
    part.frame_low = part.low - lag_;
    part.frame_high = part.high;
  }
}

void Visits::add_up() {
  const auto chunks = static_cast<int>(visits_.size());
  const auto join = [](After after, const Visit& next) {
    after.chunks += next.keys > 0 ? 1 : 0;
    after.keys += next.keys;
    after.steps += next.steps;
    after.segments += next.segments;
    after.chain += next.chain;
    return after;
  };
  // Entry n + 1 of the lanes, which place_keys() left with the keys of visit n + 1, becomes what follows visit n.
  for (int n = chunks - 1; n >= -1; --n) {
    const bool last = n + 1 == chunks || (n < 0 ? parts_[0].end == 0 : part_of_visit_[n + 1] != part_of_visit_[n]);
    (n < 0 ? after_sink_ : after_[n]) = last ? After() : join(after_[n + 1], visits_[n + 1]);
    for (int lane = 0; lane < lanes_; ++lane) {
      const int here = (n + 1) * lanes_ + lane;
      const int keys = last ? 0 : lane_keys_[here];
      lane_chunks_[here] = last ? 0 : (keys > 0 ? 1 : 0) + lane_chunks_[here + lanes_];
      lane_keys_[here] = last ? 0 : keys + lane_keys_[here + lanes_];
    }
  }
}

void Visits::count_all_rises() {
  for (const Part& part : parts_) {
    if (any_order_) break;  // counted
    int rises = 0;
    for (int n = part.end - 1; n >= part.begin; --n) {
      after_[n].rises = rises;
      rises += visits_[n].rises ? 1 : 0;
    }
  }
  rises_after_sink_ = count_rises(-1);
  for (const Part& part : parts_) {
    for (int n = part.begin; n < part.end; ++n) {
      visits_[n].rises_later = count_rises(n);
      if (a_.reduction != Reduction::chunk_normalized && a_.reduction != Reduction::chunk_recap) {
        visits_[n].final = resident_ || after_[n].rises == 0;
      } else {  // a frame of its own: the last one where the chunk certainly holds the maximum
        const double others = visits_[n].high == part.highest ? part.runner_up : part.highest;
        visits_[n].final = visits_[n].low >= others;
      }
    }
  }
}

int Visits::count_rises(int visit) const {
  if (resident_) return 0;
  const Part& part = parts_[visit < 0 ? 0 : part_of_visit_[visit]];
  const int possible = visit < 0 ? part.rises : after_[visit].rises;
  if (lag_ == 0 || possible == 0) return possible;
  const double from = visit < 0 ? part.sink_low : visits_[visit].frame_low;
  const double most = (part.high - from) / least_rise_;
  return most < possible ? static_cast<int>(most) : possible;
}

bool Visits::walk(const Leaves& leaves, std::int64_t keys) {
  const bool moved = leaves.key != keys_ || (resident_ && boundary_.back() != std::max<std::int64_t>(keys, 1));
  if (moved) {
    keys_ = leaves.key;
    if (resident_) boundary_ = {0, std::max<std::int64_t>(keys, 1)};
    visits_.assign(chunk_of_visit_.size(), {.low = -kInfinity, .high = -kInfinity});
    places_.resize(leaves.size());
    after_.resize(visits_.size() + 1);
    lane_chunks_.assign((visits_.size() + 1) * lanes_, 0);
    lane_keys_.assign((visits_.size() + 1) * lanes_, 0);
    place_keys(leaves);
    any_order_ ? add_up_any_order() : add_up();
  }
  measure(leaves);
  follow_frames(leaves);
  if (any_order_) allow_any_order();
  count_all_rises();
  return moved;
}

}  // namespace flashproof::bound
