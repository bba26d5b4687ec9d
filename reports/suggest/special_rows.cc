#include "reports/suggest/special_rows.h"

#include <algorithm>
#include <cmath>

#include "reference/error/semantics/declared_terms.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kMost = 6;                          // cases of each kind
constexpr std::int64_t kLargest = std::int64_t{1} << 14;  // elements of o

bool plant(SoftmaxProblem& p, RowKind kind) {
  const std::int64_t length = p.row_length.empty() ? p.x.shape[1] : p.row_length[0];
  if (length < 2) return false;
  for (std::int64_t c = 0; c < (kind == RowKind::empty ? length : 1); ++c) {
    p.x.set({0, c}, kind == RowKind::empty ? -kInfinity : kind == RowKind::nan ? std::nan("") : kInfinity);
  }
  return true;
}

bool plant(MergeProblem& p, RowKind kind) {
  for (std::int64_t s = 0; s < (kind == RowKind::empty ? p.lse.shape[0] : 1); ++s) {
    p.lse.set({s, 0}, kind == RowKind::empty ? -kInfinity : kind == RowKind::nan ? std::nan("") : kInfinity);
  }
  return true;
}

/// By a bias where there is one or may be one, else by q or the length.
bool plant(AttentionProblem& p, RowKind kind, bool with_bias) {
  if (p.q_length(0) == 0) return false;
  const auto keys = p.visible_keys(0, 0);
  if (keys.last <= keys.first) return false;
  if (!with_bias && !p.has_bias()) {
    if (kind == RowKind::empty && p.key_length.empty()) p.key_length.assign(static_cast<std::size_t>(p.sequences()), 1);
    if (kind == RowKind::empty) p.key_length[0] = 0;
    if (kind != RowKind::empty) p.q.set({0, 0, 0, 0}, kind == RowKind::nan ? std::nan("") : kInfinity);
    return true;
  }
  if (p.packed()) return false;
  if (!p.has_bias()) {
    p.bias = Tensor::dense(Format::f32, {p.batch(), p.q_heads(), p.q_length(), p.k_length()});
    std::ranges::fill(p.bias.storage, std::byte{0});
  }
  for (std::int64_t j = keys.first; j < (kind == RowKind::empty ? keys.last : keys.first + 1); ++j) {
    p.bias.set({0, 0, 0, j}, kind == RowKind::empty ? -kInfinity : kind == RowKind::nan ? std::nan("") : kInfinity);
  }
  return true;
}

bool planted(Problem& problem, RowKind kind, bool with_bias) {
  if (auto* p = std::get_if<AttentionProblem>(&problem)) return plant(*p, kind, with_bias);
  if (auto* p = std::get_if<SoftmaxProblem>(&problem)) return plant(*p, kind);
  return plant(std::get<MergeProblem>(problem), kind);
}

/// That has such a row, and that the kernel takes.
bool serves(const Kernel& kernel, const Problem& problem, RowKind kind) {
  try {
    validate(problem);
  } catch (const UsageError&) {
    return false;
  }
  return kernel.unsupported(problem).empty() && std::ranges::count(row_kinds(problem), kind) > 0;
}

}  // namespace

std::vector<Case> special_row_cases(const Kernel& kernel, std::span<const Case> cases) {
  constexpr std::pair<RowKind, const char*> kKinds[] = {
      {RowKind::nan, "nan"}, {RowKind::infinite, "inf"}, {RowKind::empty, "empty"}};
  std::vector<Case> list;
  for (const auto& [kind, name] : kKinds) {
    std::size_t made = 0;
    for (const Case& one : cases) {
      const OutputShape shape = output_shape(one.problem);
      if (made == kMost || shape.rows == 0 || shape.rows * shape.width > kLargest) continue;
      for (const bool with_bias : {true, false}) {
        Case other = one;
        if (!planted(other.problem, kind, with_bias) || !serves(kernel, other.problem, kind)) continue;
        other.spec.keys[kPlanted] = name;
        list.push_back(std::move(other));
        ++made;
        break;
      }
    }
  }
  return list;
}

}  // namespace flashproof
