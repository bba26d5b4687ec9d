#include "reference/error/semantics/declared_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/error/semantics/rounded_truth.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

const MergeProblem* merge_in_base_2(const Problem& problem, const Semantics& semantics) {
  return semantics.lse_base == LseBase::two ? std::get_if<MergeProblem>(&problem) : nullptr;
}

void put(Tensor& tensor, std::int64_t i, double value) { tensor.set_bits(i, encode(tensor.format, value)); }
double got(const Tensor& tensor, std::int64_t i) { return decode(tensor.format, tensor.bits(i)); }

bool is(double value, double wanted) { return std::isnan(wanted) ? std::isnan(value) : value == wanted; }

/// One for the other, so that what is not as declared is not as the reference has it either.
void exchange(Tensor& tensor, std::int64_t i, double declared, double of_reference) {
  const double value = got(tensor, i);
  if (is(value, declared)) {
    put(tensor, i, of_reference);
  } else if (is(value, of_reference)) {
    put(tensor, i, declared);
  }
}

bool has_special_rows(const Semantics& semantics) {
  Semantics plain = semantics;
  plain.lse_base = LseBase::e;
  plain.diagonal = Diagonal::bottom_right;
  plain.inf_state = InfiniteState::nan;
  return plain != Semantics{};
}

}  // namespace

Problem as_declared(Problem problem, const Semantics& semantics) {
  if (auto* p = std::get_if<AttentionProblem>(&problem)) p->top_left = semantics.diagonal == Diagonal::top_left;
  auto* p = std::get_if<MergeProblem>(&problem);
  if (p == nullptr || semantics.inf_state != InfiniteState::empty) return problem;
  for (std::int64_t s = 0; s < p->lse.shape[0]; ++s) {
    for (std::int64_t r = 0; r < p->lse.shape[1]; ++r) {
      if (p->lse.at({s, r}) == kInfinity) p->lse.set({s, r}, -kInfinity);
    }
  }
  return problem;
}

bool is_declared_otherwise(const Problem& problem, const Semantics& semantics) {
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
    return p->top_left != (semantics.diagonal == Diagonal::top_left);
  }
  return std::holds_alternative<MergeProblem>(problem) && semantics.inf_state == InfiniteState::empty;
}

std::optional<Problem> handed_over(const Problem& problem, const Semantics& semantics) {
  const bool in_base_2 = merge_in_base_2(problem, semantics) != nullptr;
  const bool merge = std::holds_alternative<MergeProblem>(problem);
  if (!in_base_2 && (!merge || semantics.inf_state != InfiniteState::empty)) return std::nullopt;
  Problem handed = problem;
  auto& p = std::get<MergeProblem>(handed);
  const Tensor& given =
      std::get<MergeProblem>(problem).lse;  // rows may share storage: each is written from what was there
  for (std::int64_t s = 0; s < p.lse.shape[0]; ++s) {
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
      const double lse = given.at({s, r});
      if (in_base_2 && std::isfinite(lse)) p.lse.set({s, r}, lse * kLog2E);
      const bool other = (s + r) % 2 == 1 && semantics.inf_state == InfiniteState::empty;
      if (other && lse == -kInfinity) p.lse.set({s, r}, kInfinity);
    }
  }
  return handed;
}

std::string not_handed_over(const Problem& problem, const Semantics& semantics) {
  const MergeProblem* p = merge_in_base_2(problem, semantics);
  for (std::int64_t s = 0; p != nullptr && s < p->lse.shape[0]; ++s) {
    for (std::int64_t r = 0; r < p->lse.shape[1]; ++r) {
      const double lse = p->lse.at({s, r});
      if (!std::isfinite(lse) || std::isfinite(round_to(Format::f32, lse * kLog2E))) continue;
      return fmt::format("lse[{}, {}]: {}, times log2(e) beyond the range of f32", s, r, lse);
    }
  }
  return "";
}

void add_state_rounding(const Problem& problem, const Semantics& semantics, Bound& bound) {
  const MergeProblem* p = merge_in_base_2(problem, semantics);
  if (p == nullptr) return;
  // A state so far below the largest changes nothing that f32 holds, however its exponent is rounded.
  constexpr double kNegligible = 200, kLeast = 0x1p-149;
  // Beyond it a term that is 0 in doubles may come to more than kLeast: of such states nothing is known.
  constexpr double kMostOff = 250;
  const double unit = unit_roundoff(Format::f32) * (1 + 0x1p-20);
  const auto width = static_cast<std::size_t>(bound.width);
  for (std::int64_t r = 0; r < bound.rows; ++r) {
    double most = -kInfinity, off = 0;
    const auto each = [&](auto visit) {
      for (std::int64_t s = 0; s < p->lse.shape[0]; ++s) {
        const double lse = p->lse.at({s, r}), sum = p->has_l() ? p->l.at({s, r}) : 1;
        if (std::isfinite(lse) && sum > 0) visit(lse + std::log(sum), unit * std::fabs(lse) + kLeast);
      }
    };
    each([&](double score, double by) { most = std::max(most, score - by); });
    each([&](double score, double by) {
      if (score + by >= most - kNegligible) off = std::max(off, by);
    });
    const auto row = static_cast<std::size_t>(r);
    bound.lse[row].weights += off;
    bound.lse[row].probable += off;
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      const double by =
          off > kMostOff ? kInfinity : std::expm1(2 * off) * bound.o[i].size * (1 + 0x1p-40) + (off > 0 ? kLeast : 0);
      bound.o[i].weights += by;
      bound.o[i].probable += by;
    }
  }
}

std::optional<double> special_lse(const Semantics& semantics, RowKind kind) {
  const LseValue value = kind == RowKind::empty      ? semantics.empty_lse
                         : kind == RowKind::infinite ? semantics.inf_lse
                                                     : semantics.nan_lse;
  switch (value) {
    case LseValue::nan:
      return kNan;
    case LseValue::plus_infinity:
      return kInfinity;
    case LseValue::minus_infinity:
      return -kInfinity;
    case LseValue::any:
      break;
  }
  return std::nullopt;
}

namespace {

/// The first column behind a softmax row's length, where 0 is right whatever the row is; else the width.
std::int64_t columns_of(const Problem& problem, std::size_t row, std::int64_t width) {
  const auto* p = std::get_if<SoftmaxProblem>(&problem);
  return p == nullptr || p->row_length.empty() ? width : p->row_length[row];
}

}  // namespace

Output in_reference_terms(const Problem& problem, const Semantics& semantics, Output output) {
  if (!has_special_rows(semantics)) return output;
  const std::vector<RowKind> kinds = row_kinds(problem);
  const std::int64_t width = output_shape(problem).width;
  for (std::size_t row = 0; row < kinds.size(); ++row) {
    if (kinds[row] == RowKind::numbers) continue;
    const auto r = static_cast<std::int64_t>(row);
    const bool empty = kinds[row] == RowKind::empty;
    const double lse = empty ? -kInfinity : kNan;
    const std::optional<double> declared = special_lse(semantics, kinds[row]);
    declared ? exchange(output.lse, r, *declared, lse) : put(output.lse, r, lse);
    const std::int64_t columns = columns_of(problem, row, width);
    for (std::int64_t i = r * width; i < (r + 1) * width; ++i) {
      if (!empty) {
        if (semantics.nan_o == NanOutput::any) put(output.o, i, kNan);
      } else if (semantics.empty_o == EmptyOutput::nan) {
        const bool zero_behind = i - r * width >= columns && got(output.o, i) == 0;
        if (!zero_behind) exchange(output.o, i, kNan, 0);
      } else if (semantics.empty_o != EmptyOutput::zero) {
        put(output.o, i, 0);  // of a mean the judging laws know
      }
    }
  }
  return output;
}

Tensor rounded_truth(const Problem& problem, Part part, const Semantics& semantics) {
  Tensor tensor = rounded_truth(problem, part);
  if (semantics == Semantics{}) return tensor;
  const std::vector<RowKind> kinds = row_kinds(problem);
  const std::int64_t width = part == Part::lse ? 1 : output_shape(problem).width;
  for (std::size_t row = 0; row < kinds.size(); ++row) {
    for (std::int64_t i = static_cast<std::int64_t>(row) * width; i < static_cast<std::int64_t>(row + 1) * width; ++i) {
      if (part == Part::lse && kinds[row] != RowKind::numbers) {
        put(tensor, i, special_lse(semantics, kinds[row]).value_or(got(tensor, i)));
      } else if (part == Part::lse && semantics.lse_base == LseBase::two) {
        put(tensor, i, got(tensor, i) * kLog2E);
      } else if (part == Part::o && kinds[row] == RowKind::empty && semantics.empty_o == EmptyOutput::nan) {
        put(tensor, i, kNan);
      }
    }
  }
  return tensor;
}

}  // namespace flashproof
