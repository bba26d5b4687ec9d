// Attention, whole or in parts.
#include <numeric>

#include "reference/bound/declare/declaration.h"
#include "reference/model/attention/attention.h"
#include "reference/model/combine.h"
#include "reference/model/problem_models.h"

namespace flashproof::model {

namespace {

/// o as a row or a part of one ends.
void descale(const RowRun& run, std::vector<float>& o) {
  if (run.model.problem.v_descale.shape.empty()) return;
  for (float& x : o) x = run.machine.mul(x, run.model.value_factor);
}

Normalised run_part(const RowRun& run) {
  Normalised result;
  switch (run.model.arithmetic.reduction) {
    case Reduction::chunk_normalized:
      result = run.model.arithmetic.separated_exponent ? run_separated(run) : run_normalized(run);
      break;
    case Reduction::chunk_recap:
      result = run_recap(run);
      break;
    case Reduction::lse_running:
      result = run_lse_running(run);
      break;
    case Reduction::row_resident:
      result = run_resident(run);
      break;
    default:
      result = Endings(run.machine, run.model.arithmetic, run.model.unit()).end(run_deferred(run));
  }
  descale(run, result.o);
  return result;
}

/// scale times the descale factors, one rounded product after the other.
float scale_of(const AttentionProblem& p, const Machine& machine, std::int64_t s, std::int64_t kv) {
  float scale = p.scale;
  for (const Tensor* const factors : {&p.q_descale, &p.k_descale}) {
    if (factors->shape.empty()) continue;
    scale = machine.mul(scale, static_cast<float>(AttentionProblem::descale(*factors, s, kv)));
  }
  return scale;
}

void round_all(std::vector<float>& values, Format format) {
  if (format == Format::f32) return;
  for (float& x : values) x = static_cast<float>(round_to(format, x));
}

Normalised run_row(const AttentionModel& model, Machine& machine, const AttentionRow& row) {
  const Arithmetic& a = model.arithmetic;
  const std::span<const std::int32_t> order(model.plan.order);
  if (a.split.parts == 1) return run_part({model, machine, row, order, row.has_sink});

  const Combination combination{a.split.combine, a.split.weights, Format::f32, true, {}};
  const auto parts = static_cast<std::size_t>(a.split.parts);
  std::vector<State> sums;
  std::vector<Normalised> states;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * order.size() / parts;
    const std::size_t end = (part + 1) * order.size() / parts;
    const RowRun run{model, machine, row, order.subspan(begin, end - begin), row.has_sink && part == 0};
    if (a.split.weights == MergeWeights::max_sum) {
      sums.push_back(run_deferred(run));
      descale(run, sums.back().o);
      round_all(sums.back().o, a.split.partial_o);
    } else {
      states.push_back(run_part(run));
      round_all(states.back().o, a.split.partial_o);
      states.back().lse = static_cast<float>(round_to(a.split.partial_lse, states.back().lse));
    }
  }
  if (!sums.empty()) return combine_sums(machine, a, combination, model.unit(), std::move(sums));
  return combine(machine, a, combination, std::move(states));
}

}  // namespace

void run(const AttentionProblem& p, const Arithmetic& arithmetic, const Roundings& roundings, Output& output) {
  const std::vector<float> nan(static_cast<std::size_t>(p.value_dim()), kNan);
  const ChunkPlan plan = visited_plan(p.plan, arithmetic);
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        const std::int64_t at = p.output_row(s, h, i);
        Machine machine(arithmetic, roundings, static_cast<std::uint64_t>(at));
        const std::int64_t kv = p.kv_head(h);
        const auto value_factor = static_cast<float>(AttentionProblem::descale(p.v_descale, s, kv));
        const AttentionModel model{p, arithmetic, scale_of(p, machine, s, kv), value_factor, plan};
        const AttentionRow row = score_row(model, machine, s, h, i, roundings.column);
        if (row.poisoned) {
          store(output, at, nan, kNan);
          continue;
        }
        const Normalised result = run_row(model, machine, row);
        store(output, at, result.o, result.lse);
      }
    }
  }
}

}  // namespace flashproof::model
