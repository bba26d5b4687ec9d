// chunk_normalized with exponentials of the frames on their own, and every weight divided by the sum (arithmetic.h,
// separated_exponent and per_key).
#include "reference/model/attention/attention.h"

namespace flashproof::model {

namespace {

class Separated {
 public:
  explicit Separated(const RowRun& run)
      : run_(run),
        machine_(run.machine),
        exponentials_(run.machine, run.model.arithmetic.exponent, run.model.unit()),
        o_(static_cast<std::size_t>(run.model.problem.value_dim()), 0.0F) {
    if (!run.with_sink) return;
    frame_ = run.row.sink;
    l_ = 1.0F;
    pull_ = run.row.sink_pull;
    of_frame_ = exponentials_.unshifted(-frame_, -1);
  }

  void take(std::int64_t begin, std::int64_t end) {
    const bool per_key = run_.model.arithmetic.per_key;
    const float largest = largest_score(run_.row, begin, end);
    if (largest == kMinusInf) return;
    const double pull = run_.row.pull_of(begin, end);
    const float joined = Machine::max(frame_, largest);
    const float beta = per_key ? 1.0F : exponentials_.ratio(largest, joined, pull);
    ChunkWeights weights = weigh(run_, exponentials_, begin, end, per_key ? joined : largest);
    const float added = machine_.mul(beta, sum_in_lanes(run_, weights.summand));
    const float l = machine_.add(machine_.mul(exponentials_.ratio(frame_, joined, pull_), l_), added);
    for (float& p : weights.stored) p = machine_.div(p, l);
    std::vector<float> pv(o_.size(), 0.0F);
    add_values(run_, weights, pv);

    const float kept = rescale(joined, l);
    for (std::size_t c = 0; c < o_.size(); ++c) {
      o_[c] = machine_.add(machine_.mul(kept, o_[c]), machine_.mul(beta, pv[c]));
    }
    frame_ = joined;
    l_ = l;
    pull_ += pull;
  }

  Normalised result() {
    Normalised result{.o = std::move(o_), .pull = pull_};
    if (frame_ == kMinusInf) return result;
    Endings endings(machine_, run_.model.arithmetic, run_.model.unit());
    result.lse = endings.lse(frame_, l_);
    return result;
  }

 private:
  /// e^{−m'} l / (l' e^{−m}); e^{−m} has one value, however often it is asked for.
  float rescale(float joined, float l) {
    const float before = of_frame_;
    if (joined != frame_) of_frame_ = exponentials_.unshifted(-joined, pull_);
    if (frame_ == kMinusInf) return 0.0F;
    return machine_.div(machine_.mul(of_frame_, l_), machine_.mul(l, before));
  }

  const RowRun& run_;
  Machine& machine_;
  Exponentials exponentials_;
  float frame_ = kMinusInf;
  float l_ = 0.0F;
  float of_frame_ = 0.0F;  // e^{−frame}
  double pull_ = 0;
  std::vector<float> o_;
};

}  // namespace

Normalised run_separated(const RowRun& run) {
  Separated row(run);
  for (const std::int32_t chunk : run.chunks) {
    const auto [begin, end] = clipped(run, chunk);
    if (!run.model.arithmetic.per_key) {
      row.take(begin, end);
      continue;
    }
    for (std::int64_t j = begin; j < end; ++j) row.take(j, j + 1);
  }
  return row.result();
}

}  // namespace flashproof::model
