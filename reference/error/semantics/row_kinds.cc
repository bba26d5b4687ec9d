// Which rows have numbers, none, or NaN.
#include <cmath>

#include "reference/error/semantics/declared_terms.h"
#include "reference/oracle/rows.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

double element(const Tensor& tensor, std::int64_t offset, std::int64_t c) {
  return decode(tensor.format, tensor.bits(offset + c * tensor.stride.back()));
}

/// In plain doubles, without the ALiBi term, which is finite: only its class is used. Products and sums of at most 32 bits do not
/// overflow a double.
double class_of_score(const AttentionProblem& p, const AttentionRow& row, std::int64_t j) {
  const std::int64_t kv = p.kv_head(row.head);
  const std::int64_t q = p.q_offset(row.sequence, row.head, row.query), k = p.k_offset(row.sequence, kv, j);
  double dot = 0;
  for (std::int64_t c = 0; c < p.head_dim(); ++c) dot += element(p.q, q, c) * element(p.k, k, c);
  double score = static_cast<double>(p.scale) * AttentionProblem::descale(p.q_descale, row.sequence, kv) *
                 AttentionProblem::descale(p.k_descale, row.sequence, kv) * dot;
  if (p.softcap > 0 && std::isinf(score)) score = std::copysign(static_cast<double>(p.softcap), score);
  return p.has_bias() ? score + p.bias.at({row.sequence, row.head, row.query, j}) : score;
}

/// Of scores among which one is NaN or +inf.
bool any_nan(const AttentionProblem& p, const AttentionRow& row) {
  if (p.has_sink() && std::isnan(p.sink.at({row.head}))) return true;
  const auto keys = p.visible_keys(row.sequence, row.query);
  for (std::int64_t j = keys.first; j < keys.last; ++j) {
    if (p.hidden_by_bias(row.sequence, row.head, row.query, j)) continue;
    if (std::isnan(class_of_score(p, row, j))) return true;
  }
  return false;
}

bool any_nan(const SoftmaxProblem& p, std::int64_t row) {
  const std::int64_t length = p.row_length.empty() ? p.x.shape[1] : p.row_length[static_cast<std::size_t>(row)];
  for (std::int64_t c = 0; c < length; ++c) {
    if (std::isnan(p.x.at({row, c}))) return true;
  }
  return false;
}

bool any_nan(const MergeProblem& p, std::int64_t row) {
  for (std::int64_t s = 0; s < p.lse.shape[0]; ++s) {
    const double lse = p.lse.at({s, row});
    if (std::isnan(lse) || (p.has_l() && lse != -kInfinity && std::isnan(p.l.at({s, row})))) return true;
  }
  return false;
}

template <class P, class Row>
RowKind kind_of_row(const P& p, const Row& row, const RowKeys& keys) {
  if (keys.poisoned) return any_nan(p, row) ? RowKind::nan : RowKind::infinite;
  return keys.key.empty() && !keys.has_sink ? RowKind::empty : RowKind::numbers;
}

std::vector<RowKind> kinds(const AttentionProblem& p) {
  std::vector<RowKind> list(static_cast<std::size_t>(output_shape(p).rows), RowKind::numbers);
  RowKeys keys;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      HeadFlags flags(p, s, p.kv_head(h));
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        const AttentionRow row{s, h, i};
        keys.clear();
        collect_keys(p, row, flags, keys);
        list[static_cast<std::size_t>(p.output_row(s, h, i))] = kind_of_row(p, row, keys);
      }
    }
  }
  return list;
}

template <class P>
std::vector<RowKind> kinds(const P& p) {
  std::vector<RowKind> list;
  RowKeys keys;
  for (std::int64_t row = 0; row < output_shape(p).rows; ++row) {
    keys.clear();
    collect_keys(p, row, keys);
    list.push_back(kind_of_row(p, row, keys));
  }
  return list;
}

}  // namespace

std::vector<RowKind> row_kinds(const Problem& problem) {
  return visit_forward([](const auto& p) { return kinds(p); }, problem);
}

}  // namespace flashproof
