// The four problems and what each of them returns. Semantics of every edge case: README.md beside this file.
//
//   softmax    x (rows, cols)                              -> o (rows, cols),        lse (rows)
//   merge      o_c (n, rows, dv), lse_c (n, rows),
//              l_c (n, rows)                              -> o (rows, dv | n·dv),   lse (rows)
//   attention  q (B, Hq, Sq, d), k (B, Hk, Sk, d),
//              v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk),
//              descale factors (B, Hk)                     -> o (B, Hq, Sq, dv),     lse (B, Hq, Sq)
//     packed   q (1, Hq, total, d), offsets q_start; k, v (1, Hk, total, ·), offsets k_start -> o (1, Hq, total, dv)
//     paged    k, v (pages, Hk, page_size, ·), page_table (B, pages per sequence)
//   backward   the attention's, d_out and o (B, Hq, Sq, dv),
//              lse (B, Hq, Sq)                             -> dq (B, Hq, Sq, d),     dk (B, Hk, Sk, d), dv (B, Hk, Sk, dv)
//
// A forward output is handled as `rows x width`, row-major and dense; an attention row is ((b·Hq + h)·Sq + i) with the axes
// of q (packed: b = 0, i counts through the tokens of all sequences). Gradients are dense, with the axes above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/forward.h"
#include "reference/problem/tensor.h"

namespace flashproof {

/// In the order of Problem. `attention_backward`: the gradient of attention.
enum class ProblemKind : std::uint8_t { softmax, merge, attention, backward };
inline constexpr ProblemKind kProblemKinds[] = {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention,
                                                ProblemKind::backward};
inline constexpr ProblemKind kForwardKinds[] = {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention};
std::string_view name(ProblemKind kind);
/// The kind whose recipes, families and features a problem has: attention's for its gradient, else its own.
constexpr ProblemKind forward_kind(ProblemKind kind) {
  return kind == ProblemKind::backward ? ProblemKind::attention : kind;
}

using Problem = std::variant<SoftmaxProblem, MergeProblem, AttentionProblem, BackwardProblem>;

ProblemKind kind_of(const Problem& problem);
/// The attention problem itself, or the one that a gradient is of; null for the others.
const AttentionProblem* attention_of(const Problem& problem);
/// The first feature of the problem, in the order of Feature, that is not among those taken. Softmax has none.
std::optional<Feature> feature_beyond(const Problem& problem, std::span<const Feature> taken);
/// The storage format of x, of a merge's o, or of q.
Format format_of(const Problem& problem);

/// `use` of the problem where it is a forward one, for what is defined of forward functions only. std::logic_error for a
/// gradient.
template <class AnyProblem, class Use>
decltype(auto) visit_forward(Use&& use, AnyProblem& problem) {
  if (auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return use(*softmax);
  if (auto* merge = std::get_if<MergeProblem>(&problem)) return use(*merge);
  if (auto* attention = std::get_if<AttentionProblem>(&problem)) return use(*attention);
  throw std::logic_error("a gradient where a forward problem is required");
}

/// The tensors that a kernel returns, by name.
enum class Part : std::uint8_t { o, lse, dq, dk, dv };
inline constexpr std::size_t kPartCount = 5;
inline constexpr Part kForwardParts[] = {Part::o, Part::lse};
inline constexpr Part kGradientParts[] = {Part::dq, Part::dk, Part::dv};
std::string_view name(Part part);
/// Those of a problem, in order.
constexpr std::span<const Part> parts(ProblemKind kind) {
  if (kind == ProblemKind::backward) return kGradientParts;
  return kForwardParts;
}

/// What a kernel returns: the parts of its problem, dense; the others have no shape. o is (rows, width) and lse (rows) in
/// f32; dq, dk and dv have four axes, in the format of q.
struct Output {
  Tensor o{};
  Tensor lse{};
  Tensor dq{};
  Tensor dk{};
  Tensor dv{};

  const Tensor& operator[](Part part) const {
    switch (part) {
      case Part::o:
        return o;
      case Part::lse:
        return lse;
      case Part::dq:
        return dq;
      case Part::dk:
        return dk;
      case Part::dv:
        break;
    }
    return dv;
  }
  Tensor& operator[](Part part) { return const_cast<Tensor&>(std::as_const(*this)[part]); }
};

/// Of one of the problem's parts.
std::vector<std::int64_t> output_shape(const Problem& problem, Part part);
Format output_format(const Problem& problem, Part part);
/// Of the first part, o or dq: format_of, but for an attention with an 8-bit q.
Format output_format(const Problem& problem);
/// Rows and columns of the first part: o is rows x width, lse is rows; dq is rows x width.
struct OutputShape {
  std::int64_t rows = 0;
  std::int64_t width = 0;
};
OutputShape output_shape(const Problem& problem);

void validate(const Problem& problem);

}  // namespace flashproof
