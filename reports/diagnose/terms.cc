#include "reports/diagnose/terms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/declare/declaration.h"
#include "reference/problem/score_terms.h"

namespace flashproof {
namespace {

/// What a chunk plan says of a position.
struct Chunks {
  ChunkPlan plan;
  std::vector<std::int32_t> visit;  // of a chunk

  Chunks(const ChunkPlan& asked, const Arithmetic& arithmetic) : plan(visited_plan(asked, arithmetic)) {
    visit.resize(plan.order.size());
    for (std::size_t n = 0; n < plan.order.size(); ++n)
      visit[static_cast<std::size_t>(plan.order[n])] = static_cast<std::int32_t>(n);
  }
  void place(Term& term, int parts) const {
    const auto& b = plan.boundary;
    const auto chunk = static_cast<std::size_t>(std::upper_bound(b.begin(), b.end(), term.position) - b.begin());
    if (chunk == 0 || chunk > visit.size()) return;
    term.visit = visit[chunk - 1];
    term.in_chunk = static_cast<std::int32_t>(term.position) - b[chunk - 1];
    term.part = part_of_visit(term.visit, static_cast<int>(visit.size()), parts);
  }
  std::vector<std::int64_t> begins() const {
    std::vector<std::int64_t> list;
    list.reserve(plan.order.size());
    for (const std::int32_t chunk : plan.order) list.push_back(plan.boundary[static_cast<std::size_t>(chunk)]);
    return list;
  }
};

Real dot(const AttentionProblem& p, std::int64_t q, std::int64_t k) {
  Real sum = 0;
  for (std::int64_t c = 0; c < p.head_dim(); ++c) {
    sum += static_cast<Real>(decode(p.q.format, p.q.bits(q + c * p.q.stride[3]))) *
           static_cast<Real>(decode(p.k.format, p.k.bits(k + c * p.k.stride[3])));
  }
  return sum;
}

RowTerms of_attention(const AttentionProblem& p, const Arithmetic& arithmetic, std::int64_t row) {
  RowTerms r;
  const QueryPlace at = query_place(p, row);
  r.row = row, r.s = at.s, r.h = at.h, r.i = at.i;
  r.width = p.value_dim();
  r.length = p.visible_length(r.s);
  r.causal = p.causal;
  r.stored = arithmetic.weights.format;
  r.summed = arithmetic.weights.summed;
  r.lanes = std::max(arithmetic.lanes, 1);
  if (p.has_sink()) r.sink = p.sink.at({r.h});
  const Chunks chunks(p.plan, arithmetic);
  r.visits = chunks.plan.chunks(), r.parts = arithmetic.split.parts;
  r.begins = chunks.begins();
  const std::int64_t kv = p.kv_head(r.h), q = p.q_offset(r.s, r.h, r.i);
  const Real scale = static_cast<Real>(p.scale) * static_cast<Real>(AttentionProblem::descale(p.q_descale, r.s, kv)) *
                     static_cast<Real>(AttentionProblem::descale(p.k_descale, r.s, kv));
  const Real v_scale = AttentionProblem::descale(p.v_descale, r.s, kv);
  const AttentionProblem::Keys keys = p.visible_keys(r.s, r.i);
  for (std::int64_t j = 0; j < r.length; ++j) {
    Term term{.position = j};
    term.raw = dot(p, q, p.k_offset(r.s, kv, j));
    Real score = scale * term.raw;
    if (p.softcap > 0) score = p.softcap * std::tanh(score / p.softcap);
    for_each_added_term(p, r.s, r.h, r.i, j, [&](double value, std::int64_t times) {
      score += static_cast<Real>(value) * static_cast<Real>(times);
    });
    term.score = score;
    term.visible = keys.first <= j && j < keys.last && !p.hidden_by_bias(r.s, r.h, r.i, j) && score != kNothing;
    chunks.place(term, r.parts);
    r.terms.push_back(term);
    r.values.push_back({&p.v, p.v_offset(r.s, kv, j), p.v.stride[3], v_scale});
  }
  return r;
}

RowTerms of_merge(const MergeProblem& p, std::int64_t row) {
  RowTerms r;
  r.kind = ProblemKind::merge;
  r.row = r.i = row;
  const std::int64_t n = p.o.shape[0], dv = p.o.shape[2];
  r.width = p.form == MergeForm::concat ? n * dv : dv;
  r.block = p.form == MergeForm::concat ? dv : 0;
  r.length = n;
  r.visits = static_cast<int>(n);
  for (std::int64_t c = 0; c < n; ++c) {
    Term term{.position = c, .score = p.lse.at({c, row})};
    Real factor = 1;
    if (p.has_l() && term.score != kNothing) {
      const Real l = p.l.at({c, row});
      factor = 1 / l;
      term.score += std::log(l);
    }
    term.visible = term.score != kNothing;
    for (std::size_t place = 0; place < p.order.size(); ++place) {
      if (p.order[place] == c) term.visit = static_cast<std::int32_t>(place);
    }
    r.terms.push_back(term);
    r.values.push_back({&p.o, p.o.offset({c, row, 0}), p.o.stride[2], factor});
  }
  return r;
}

RowTerms of_softmax(const SoftmaxProblem& p, const Arithmetic& arithmetic, std::int64_t row) {
  RowTerms r;
  r.kind = ProblemKind::softmax;
  r.row = r.i = row;
  r.width = p.x.shape[1];
  r.lanes = arithmetic.lanes > 0             ? arithmetic.lanes
            : arithmetic.lanes_of != nullptr ? std::max(arithmetic.lanes_of(r.width), 1)
                                             : 1;
  r.length = p.row_length.empty() ? r.width : p.row_length[static_cast<std::size_t>(row)];
  const Chunks chunks(p.plan, arithmetic);
  r.visits = chunks.plan.chunks();
  r.begins = chunks.begins();
  for (std::int64_t j = 0; j < r.length; ++j) {
    Term term{.position = j, .score = p.x.at({row, j})};
    term.visible = term.score != kNothing;
    chunks.place(term, 1);
    r.terms.push_back(term);
  }
  return r;
}

}  // namespace

Real RowTerms::value(std::size_t at, std::int64_t column) const {
  const Values& v = values[at];
  return v.factor * static_cast<Real>(decode(v.tensor->format, v.tensor->bits(v.first + column * v.step)));
}

QueryPlace query_place(const AttentionProblem& p, std::int64_t row) {
  if (!p.packed()) {
    return {row / p.q_length() / p.q_heads(), row / p.q_length() % p.q_heads(), row % p.q_length()};
  }
  const std::int64_t token = row % p.q_length();
  const auto after = std::upper_bound(p.q_start.begin(), p.q_start.end(), token);
  const std::int64_t s = after - p.q_start.begin() - 1;
  return {s, row / p.q_length(), token - p.q_start[static_cast<std::size_t>(s)]};
}

RowTerms row_terms(const Problem& problem, const Arithmetic& arithmetic, std::int64_t row) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return of_softmax(*softmax, arithmetic, row);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return of_merge(*merge, row);
  return of_attention(*attention_of(problem), arithmetic, row);
}

int part_of_visit(int visit, int visits, int parts) {
  int part = 0;
  while (part + 1 < parts && std::int64_t{part + 1} * visits / parts <= visit) ++part;
  return part;
}

Real log_sum(const std::vector<Real>& exponents) {
  Real largest = kNothing;
  for (const Real x : exponents) {
    if (std::isnan(x)) return x;
    largest = std::max(largest, x);
  }
  if (largest == -kNothing) return std::numeric_limits<Real>::quiet_NaN();  // e^(inf - inf)
  if (largest == kNothing) return kNothing;
  Real sum = 0;
  for (const Real x : exponents) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

}  // namespace flashproof
