// Three stages: the maximum of the row, the sum of its weights (lanes over all its keys, then a butterfly), and
// P = e^{s−m}/l stored; then one sum of p·v over all keys, whatever the chunks.
#include "reference/model/attention/attention.h"
#include "reference/model/products.h"

namespace flashproof::model {

Normalised run_resident(const RowRun& run) {
  Machine& machine = run.machine;
  const StoredWeights& declared = run.model.arithmetic.weights;
  Exponentials exponentials(machine, run.model.arithmetic.exponent, run.model.unit());
  Endings endings(machine, run.model.arithmetic, run.model.unit());
  const auto keys = static_cast<std::int64_t>(run.row.score.size());
  Normalised result{.o = std::vector<float>(static_cast<std::size_t>(run.model.problem.value_dim()), 0.0F)};
  float frame = largest_score(run.row, 0, keys);
  if (run.with_sink) frame = Machine::max(frame, run.row.sink);
  if (frame == kMinusInf) return result;

  std::vector<float> lanes(static_cast<std::size_t>(run.model.arithmetic.lanes), 0.0F);
  if (run.with_sink) lanes[0] = exponentials.weight(run.row.sink, frame, run.row.sink_pull);
  std::vector<float> weights(run.row.score.size(), 0.0F);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (run.row.score[j] == kMinusInf) continue;
    weights[j] = exponentials.weight(run.row.score[j], frame, run.row.pull.empty() ? 0 : run.row.pull[j]);
    const int at = lane_at(run.model.arithmetic, static_cast<std::int64_t>(j), run.model.arithmetic.lanes);
    float& lane = lanes[static_cast<std::size_t>(at)];
    lane = machine.add(lane, weights[j]);
  }
  const float l = butterfly(machine, lanes);
  result.lse = endings.lse(frame, l);
  const float prepared = endings.factor(frame, l, result.lse);

  ChunkWeights stored{.begin = 0, .end = keys};
  const auto scale = static_cast<float>(declared.scale);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    float p = run.row.score[j] == kMinusInf ? 0.0F : endings.quotient(weights[j], l, prepared);
    if (scale != 1.0F) p = machine.mul(p, scale);
    if (declared.format != Format::f32) {
      p = static_cast<float>(decode(declared.format, encode(declared.format, p, Overflow::saturate)));
    }
    stored.stored.push_back(p);
  }
  add_values(run, stored, result.o);
  unscale(run, result.o);
  return result;
}

}  // namespace flashproof::model
