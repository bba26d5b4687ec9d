#include "reports/plugin/test/trivial_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace flashproof {
namespace {

using Visit = std::function<void(std::int64_t, const TrivialAnswers&)>;

const double kNone = std::nan("");

TrivialAnswers of_values(const std::vector<double>& values, double copy) {
  if (values.empty()) return {copy, kNone, kNone, kNone};
  double sum = 0;
  for (const double value : values) sum += value;
  return {copy, sum / static_cast<double>(values.size()), *std::ranges::min_element(values),
          *std::ranges::max_element(values)};
}

TrivialAnswers of_lse(const std::vector<double>& scores) {
  const double largest = scores.empty() ? -std::numeric_limits<double>::infinity() : *std::ranges::max_element(scores);
  return {largest, largest, largest, largest};
}

void of_softmax(const SoftmaxProblem& p, bool lse, const Visit& visit) {
  const std::int64_t cols = p.x.shape[1];
  for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
    const std::int64_t length = p.row_length.empty() ? cols : p.row_length[static_cast<std::size_t>(r)];
    std::vector<double> scores;
    scores.reserve(static_cast<std::size_t>(length));
    for (std::int64_t c = 0; c < length; ++c) scores.push_back(p.x.at({r, c}));
    if (lse) visit(r, of_lse(scores));
    for (std::int64_t c = 0; c < cols && !lse; ++c) {
      visit(r * cols + c, {p.x.at({r, c}), 1 / static_cast<double>(length), 0, 1});
    }
  }
}

void of_merge(const MergeProblem& p, bool lse, const Visit& visit) {
  const std::int64_t states = p.o.shape[0], rows = p.o.shape[1], width = p.o.shape[2];
  const bool concat = p.form == MergeForm::concat;
  const std::int64_t columns = concat ? states * width : width;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> list;
    for (std::int64_t s = 0; s < states && lse; ++s) list.push_back(p.lse.at({s, r}));
    if (lse) visit(r, of_lse(list));
    for (std::int64_t c = 0; c < columns && !lse; ++c) {
      const auto of_state = [&](std::int64_t s) {
        return p.has_l() ? p.o.at({s, r, c % width}) / p.l.at({s, r}) : p.o.at({s, r, c % width});
      };
      list.clear();
      for (std::int64_t s = 0; s < states && !concat; ++s) list.push_back(of_state(s));
      if (concat) list = {0, of_state(c / width)};  // weighted by no more than 1
      visit(r * columns + c, of_values(list, of_state(concat ? c / width : 0)));
    }
  }
}

double score(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) {
  const std::int64_t kv = p.kv_head(h), q = p.q_offset(s, h, i), k = p.k_offset(s, kv, j);
  double dot = 0;
  for (std::int64_t c = 0; c < p.head_dim(); ++c) {
    dot += decode(p.q.format, p.q.bits(q + c * p.q.stride[3])) * decode(p.k.format, p.k.bits(k + c * p.k.stride[3]));
  }
  double score = static_cast<double>(p.scale) * AttentionProblem::descale(p.q_descale, s, kv) *
                 AttentionProblem::descale(p.k_descale, s, kv) * dot;
  const double cap = static_cast<double>(p.softcap);
  if (cap != 0) score = cap * std::tanh(score / cap);
  if (p.has_bias()) score += p.bias.at({s, h, i, j});
  const std::int64_t distance = i + p.k_length(s) - p.q_length(s) - j;
  if (p.has_alibi()) score -= p.alibi.at({s, h}) * static_cast<double>(std::abs(distance));
  return score;
}

void of_attention(const AttentionProblem& p, bool lse, const Visit& visit) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        const AttentionProblem::Keys keys = p.visible_keys(s, i);
        const std::int64_t row = p.output_row(s, h, i);
        std::vector<double> list;
        if (lse) {
          for (std::int64_t j = keys.first; j < keys.last; ++j) list.push_back(score(p, s, h, i, j));
          if (p.has_sink()) list.push_back(p.sink.at({h}));
          visit(row, of_lse(list));
          continue;
        }
        const double factor = AttentionProblem::descale(p.v_descale, s, p.kv_head(h));
        for (std::int64_t c = 0; c < p.value_dim(); ++c) {
          list.clear();
          for (std::int64_t j = keys.first; j < keys.last; ++j) {
            if (p.hidden_by_bias(s, h, i, j)) continue;
            const std::int64_t at = p.v_offset(s, p.kv_head(h), j) + c * p.v.stride[3];
            list.push_back(factor * decode(p.v.format, p.v.bits(at)));
          }
          const std::int64_t q = p.q_offset(s, h, i) + c % std::max<std::int64_t>(1, p.head_dim()) * p.q.stride[3];
          visit(row * p.value_dim() + c, of_values(list, decode(p.q.format, p.q.bits(q))));
        }
      }
    }
  }
}

/// One query of one head.
void add_uniform(const BackwardProblem& problem, std::int64_t b, std::int64_t h, std::int64_t i,
                 UniformGradients& sums) {
  const AttentionProblem& p = problem.forward;
  const std::int64_t kv = p.kv_head(h), d = p.head_dim(), dv = p.value_dim();
  const AttentionProblem::Keys seen = p.visible_keys(b, i);
  std::vector<std::int64_t> keys;
  for (std::int64_t j = seen.first; j < seen.last; ++j) {
    if (!p.hidden_by_bias(b, h, i, j)) keys.push_back(j);
  }
  const auto n = static_cast<double>(keys.size());
  const auto row = static_cast<std::size_t>((b * p.q_heads() + h) * p.q_length() + i);
  double delta = 0;
  for (std::int64_t c = 0; c < dv; ++c) delta += problem.d_out.at({b, h, i, c}) * problem.o.at({b, h, i, c});
  for (const std::int64_t j : keys) {
    const auto key = static_cast<std::size_t>((b * p.k_heads() + kv) * p.k_length() + j);
    double product = 0;
    for (std::int64_t c = 0; c < dv; ++c) {
      const double d_out = problem.d_out.at({b, h, i, c});
      product += d_out * p.v.at({b, kv, j, c});
      sums.dv[key * static_cast<std::size_t>(dv) + static_cast<std::size_t>(c)] += d_out / n;
    }
    const double ds = static_cast<double>(p.scale) * (product - delta) / n;
    for (std::int64_t c = 0; c < d; ++c) {
      const auto column = static_cast<std::size_t>(c);
      sums.dq[row * static_cast<std::size_t>(d) + column] += ds * p.k.at({b, kv, j, c});
      sums.dk[key * static_cast<std::size_t>(d) + column] += ds * p.q.at({b, h, i, c});
    }
  }
}

}  // namespace

UniformGradients uniform_gradients(const BackwardProblem& problem) {
  const AttentionProblem& p = problem.forward;
  const auto query_rows = static_cast<std::size_t>(problem.query_rows());
  const auto key_rows = static_cast<std::size_t>(problem.key_rows());
  const auto d = static_cast<std::size_t>(p.head_dim()), dv = static_cast<std::size_t>(p.value_dim());
  UniformGradients sums{std::vector<double>(query_rows * d), std::vector<double>(key_rows * d),
                        std::vector<double>(key_rows * dv)};
  for (std::int64_t b = 0; b < p.batch(); ++b) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      for (std::int64_t i = 0; i < p.q_length(); ++i) add_uniform(problem, b, h, i, sums);
    }
  }
  return sums;
}

void for_each_trivial(const Problem& problem, bool lse, const Visit& visit) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return of_softmax(*softmax, lse, visit);
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return of_merge(*merge, lse, visit);
  of_attention(std::get<AttentionProblem>(problem), lse, visit);
}

}  // namespace flashproof
