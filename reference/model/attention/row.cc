#include "reference/model/attention/row.h"

#include <algorithm>
#include <cmath>

#include "reference/model/products.h"
#include "reference/problem/score_terms.h"

namespace flashproof::model {

namespace {

std::vector<float> vector_at(const Tensor& tensor, std::int64_t offset) {
  std::vector<float> result(static_cast<std::size_t>(tensor.shape.back()));
  for (float& x : result) {
    x = static_cast<float>(decode(tensor.format, tensor.bits(offset)));
    offset += tensor.stride.back();
  }
  return result;
}

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

/// Softcap, bias and ALiBi on the product q·k, as arithmetic.h orders them.
class Scorer {
 public:
  Scorer(const AttentionModel& model, Machine& machine) : p_(model.problem), machine_(machine), unit_(model.unit()) {
    raw_ = model.arithmetic.unit == ScoreUnit::raw;
    scale_ = model.scaled_query() ? 1.0F : model.scale;
  }

  float score(float dot, const AttentionRow& row, std::int64_t key) const {
    float x = dot;
    if (!raw_ && scale_ != 1.0F) x = machine_.mul(scale_, x);
    if (p_.softcap != 0.0F && raw_) {
      x = machine_.tanh(machine_.mul(x, machine_.div(scale_, p_.softcap)), 0);
    } else if (p_.softcap != 0.0F) {
      x = machine_.mul(p_.softcap, machine_.tanh(machine_.div(x, p_.softcap), 0));
    }
    for_each_added_term(p_, row.sequence, row.head, row.query, key, [&](double value, std::int64_t times) {
      auto term = static_cast<float>(value);
      if (raw_) term = machine_.div(term, unit_);
      x = machine_.add(x, times == 1 ? term : machine_.mul(term, static_cast<float>(times)));
    });
    return x;
  }
  float sink(float x) const { return raw_ ? machine_.div(x, unit_) : x; }

 private:
  const AttentionProblem& p_;
  Machine& machine_;
  float unit_;
  float scale_;
  bool raw_;
};

/// For a machine that aims: o of the column in doubles from the computed scores, and each key's share of the distance.
void aim(const AttentionModel& model, AttentionRow& row, std::int64_t column) {
  std::vector<float> values;
  const auto keys = static_cast<std::int64_t>(row.score.size());
  gather_values(model, row, 0, keys, column, values);
  const double unit = model.unit();
  double largest = row.has_sink ? row.sink : -HUGE_VAL;
  for (const float x : row.score) largest = std::max<double>(largest, x);
  const double sink = row.has_sink ? std::exp((row.sink - largest) * unit) : 0;
  double sum = sink;
  double weighted = 0;
  row.pull.resize(row.score.size());
  for (std::size_t j = 0; j < row.score.size(); ++j) {
    row.pull[j] = row.score[j] == kMinusInf ? 0 : std::exp((row.score[j] - largest) * unit);
    sum += row.pull[j];
    weighted += row.pull[j] * values[j];
  }
  const double o = weighted / sum;
  for (std::size_t j = 0; j < row.score.size(); ++j) row.pull[j] *= values[j] - o;
  row.sink_pull = -sink * o;
}

}  // namespace

float AttentionModel::unit() const {
  if (arithmetic.unit == ScoreUnit::natural) return 1.0F;
  return problem.softcap != 0.0F ? problem.softcap : scale;
}

double AttentionRow::pull_of(std::int64_t begin, std::int64_t end) const {
  double sum = 0;
  for (std::int64_t j = begin; j < end && j < static_cast<std::int64_t>(pull.size()); ++j) {
    sum += pull[static_cast<std::size_t>(j)];
  }
  return sum;
}

AttentionRow score_row(const AttentionModel& model, Machine& machine, std::int64_t s, std::int64_t h, std::int64_t i,
                       std::int64_t column) {
  const AttentionProblem& p = model.problem;
  const Arithmetic& a = model.arithmetic;
  const Scorer scorer(model, machine);
  AttentionRow row{.sequence = s, .head = h, .query = i};
  const AttentionProblem::Keys keys = p.visible_keys(s, i);
  row.score.assign(static_cast<std::size_t>(std::max<std::int64_t>(keys.last, 0)), kMinusInf);

  std::vector<float> q = vector_at(p.q, p.q_offset(s, h, i));
  const bool q_finite = all_finite(q);
  const Format q_format = model.scaled_query() ? a.query : p.q.format;
  if (model.scaled_query()) {
    for (float& x : q) x = static_cast<float>(round_to(a.query, machine.mul(x, model.scale)));
  }
  for (std::int64_t j = std::max<std::int64_t>(keys.first, 0); j < keys.last; ++j) {
    const float bias = p.has_bias() ? static_cast<float>(p.bias.at({s, h, i, j})) : 0.0F;
    if (bias == kMinusInf) continue;
    const std::vector<float> k = vector_at(p.k, p.k_offset(s, p.kv_head(h), j));
    const float dot = sum_products(machine, a.dot, {q, q_format}, {k, p.k.format}, 0.0F);
    float score = scorer.score(dot, row, j);
    // Finite factors that leave the range must not lose their key in silence.
    if (score == kMinusInf && q_finite && all_finite(k)) score = kNan;
    row.poisoned = row.poisoned || !(score < HUGE_VALF);
    row.score[static_cast<std::size_t>(j)] = score;
  }
  if (p.has_sink()) {
    const auto sink = static_cast<float>(p.sink.at({h}));
    row.has_sink = sink != kMinusInf;
    row.poisoned = row.poisoned || !(sink < HUGE_VALF);
    row.sink = scorer.sink(sink);
  }
  if (machine.aims() && !row.poisoned) aim(model, row, column % p.value_dim());
  return row;
}

void gather_values(const AttentionModel& model, const AttentionRow& row, std::int64_t begin, std::int64_t end,
                   std::int64_t column, std::vector<float>& values) {
  const AttentionProblem& p = model.problem;
  values.assign(static_cast<std::size_t>(end - begin), 0.0F);
  for (std::int64_t j = begin; j < end; ++j) {
    if (row.score[static_cast<std::size_t>(j)] == kMinusInf) continue;
    const std::int64_t at = p.v_offset(row.sequence, p.kv_head(row.head), j) + column * p.v.stride.back();
    values[static_cast<std::size_t>(j - begin)] = static_cast<float>(decode(p.v.format, p.v.bits(at)));
  }
}

}  // namespace flashproof::model
