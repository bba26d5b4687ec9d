// What a reduction's frame and sums do chunk by chunk, in the order of visiting: where the frame may lie, where it may
// rise, and how many operations follow a key (README.md, section 4).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/row/row_model.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// A sum, a difference or a product below the normal range, flushed with its operands or not; in nats where it is an exponent.
inline constexpr double kTiny = 0x1p-120;

/// One visited chunk. Scores are uncertain, so a rise is counted wherever it is possible. Frames in natural units.
struct Visit {
  std::size_t begin = 0, end = 0;        // its leaves: a run of them
  double low = 0, high = 0;              // bounds of the chunk's own maximum; empty interval (inf, −inf) without keys
  double frame_low = 0, frame_high = 0;  // bounds of the frame once the chunk has been seen
  int keys = 0;
  int steps = 0;     // matrix unit: steps in which a visible key takes part
  int segments = 0;  // promotions in which one does
  int chain =
      0;  // fma chains: visible keys of the chain that begins with the accumulator; in any order, of the longest
  bool first = true;  // nothing came before it in its part
  bool rises = false;
  bool below = false;   // its own maximum may lie below the running one
  int rises_later = 0;  // of the frame, after it
  bool final = false;   // its weights are certainly in the last frame of its part
};

/// Sums over the chunks of one part that follow a visit; in any order, over all others.
struct After {
  int rises = 0, chunks = 0, keys = 0, steps = 0, segments = 0, chain = 0;
};

/// Where a key stands in its chunk: counts from it to the end of the chunk.
struct KeyVisit {
  int visit = -1;  // −1: the sink
  int lane = 0;
  int rest_of_chain = 0;
  int rest_of_lane = 0;
  int rest_of_steps = 0;
  int rest_of_segments = 0;
};

/// One worker's share of a row (Split); the whole row without a split.
struct Part {
  int begin = 0, end = 0;             // visits
  double low = 0, high = 0;           // bounds of its largest score; low > high: it has no key
  double highest = 0, runner_up = 0;  // upper bounds of the two largest of its chunks' maxima and the sink
  double frame_low = 0, frame_high = 0;
  int rises = 0;   // possible ones, all chunks
  int chunks = 0;  // with a visible key
  int keys = 0;    // visible, the sink included
  bool sink = false;
  double sink_low = 0;  // lower bound of its score
};

/// Reused from row to row.
class Visits {
 public:
  Visits(const AttentionProblem& p, const Arithmetic& arithmetic, const ScoreScale& scale);
  /// Leaves in key order, the sink (key −1) first; scores and their errors are set. `keys`: those of the sequence. False
  /// if the keys are those of the walk before: then nothing has changed that does not depend on scores.
  bool walk(const Leaves& leaves, std::int64_t keys);

  const std::vector<Visit>& visits() const { return visits_; }
  /// As many as there can be: chunks of the plan, keys one by one, or the row.
  std::size_t chunks() const { return chunk_of_visit_.size(); }
  const std::vector<Part>& parts() const { return parts_; }
  const KeyVisit& place(std::size_t leaf) const { return places_[leaf]; }
  /// What follows a visit in its part; −1: the sink, which the first part begins with.
  const After& after(int visit) const { return visit < 0 ? after_sink_ : after_[visit]; }
  int part_of(std::size_t leaf) const { return places_[leaf].visit < 0 ? 0 : part_of_visit_[places_[leaf].visit]; }
  /// Chunks after this visit in which the lane has keys, and its keys there. In any order both are the keys: a chunk that
  /// follows may also be a part of its own.
  int later_lane_chunks(int visit, int lane) const { return lane_chunks_[(visit + 1) * lanes_ + lane]; }
  int later_lane_keys(int visit, int lane) const { return lane_keys_[(visit + 1) * lanes_ + lane]; }
  /// Upper bound of the rises from this visit's frame to the last one.
  int rises_after(int visit) const { return visit < 0 ? rises_after_sink_ : visits_[visit].rises_later; }
  /// By how much the largest score may exceed the frame, rounded up; 0 if the frame follows at once.
  Nats lag() const { return {lag_}; }

 private:
  void plan_parts();
  void place_keys(const Leaves& leaves);
  void add_up();
  void add_up_any_order();
  void measure(const Leaves& leaves);
  void follow_frames(const Leaves& leaves);
  void allow_any_order();
  void count_all_rises();
  int count_rises(int visit) const;

  const Arithmetic& a_;
  bool resident_;
  bool any_order_;
  int lanes_;
  double lag_, least_rise_;
  std::vector<std::int64_t> boundary_, keys_;
  std::vector<int> visit_of_chunk_, chunk_of_visit_, part_of_visit_;
  std::vector<Visit> visits_;
  std::vector<Part> parts_;
  std::vector<KeyVisit> places_;
  std::vector<After> after_;
  After after_sink_;
  int rises_after_sink_ = 0;
  std::vector<int> lane_chunks_, lane_keys_, chain_seen_;
  std::vector<double> highs_;
};

}  // namespace flashproof::bound
