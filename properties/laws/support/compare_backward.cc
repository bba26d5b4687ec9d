#include "properties/laws/support/compare_backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/support/change.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

double half_of_largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double x = std::fabs(decode(tensor.format, tensor.bits(i)));
    if (std::isfinite(x)) most = std::max(most, x);
  }
  return most / 2;
}

const Tensor& tensor_of(const Output& gradients, Part part) {
  return part == Part::dq ? gradients.dq : part == Part::dk ? gradients.dk : gradients.dv;
}

bool finite_row(const Tensor& tensor, std::int64_t b, std::int64_t h, std::int64_t i) {
  for (std::int64_t c = 0; c < tensor.shape[3]; ++c) {
    if (!std::isfinite(tensor.at({b, h, i, c}))) return false;
  }
  return true;
}

}  // namespace

GradientReading::GradientReading(const Output& gradients, const Bound& bound)
    : gradients_(gradients),
      bound_(bound),
      sharp_{half_of_largest(gradients.dq), half_of_largest(gradients.dk), half_of_largest(gradients.dv)} {}

const Tensor& GradientReading::tensor(Part part) const { return tensor_of(gradients_, part); }

std::int64_t GradientReading::rows(Part part) const {
  const auto& shape = tensor(part).shape;
  return shape[0] * shape[1] * shape[2];
}

double GradientReading::value(Part part, std::int64_t row, std::int64_t column) const {
  return decode(format(part), tensor(part).bits(row * width(part) + column));
}

namespace {

const ElementBound& bound_at(const Bound& bound, Part part, std::int64_t index) {
  const auto& all = part == Part::dq ? bound.dq : part == Part::dk ? bound.dk : bound.dv;
  return all[static_cast<std::size_t>(index)];
}

}  // namespace

Standing GradientReading::standing(Part part, std::int64_t row, std::int64_t column) const {
  const auto& domain = part == Part::dq ? bound_.query_domain : bound_.key_domain;
  if (!domain[static_cast<std::size_t>(row)].holds()) return Standing::excused;
  if (!(bound_at(bound_, part, row * width(part) + column).total() < kInfinity)) return Standing::excused;
  return std::isfinite(value(part, row, column)) ? Standing::number : Standing::special;
}

Measured GradientReading::at(Part part, std::int64_t row, std::int64_t column) const {
  const double computed = value(part, row, column);
  const double allowed = bound_at(bound_, part, row * width(part) + column).total();
  if (!std::isfinite(computed)) return {computed, allowed};
  return {computed, allowed + ulp(format(part), computed) / 2};
}

void same_gradient(Comparison& tally, Part part, const GradientReading& computed, std::int64_t row,
                   const GradientReading& expected, std::int64_t expected_row, std::int64_t column,
                   std::string_view relation) {
  const Standing a = computed.standing(part, row, column), b = expected.standing(part, expected_row, column);
  if (a == Standing::excused || b == Standing::excused) return;
  const Measured left = computed.at(part, row, column), right = expected.at(part, expected_row, column);
  const auto what = [&] { return fmt::format("{}, {}", place_of(part, row, column), relation); };
  if (a == Standing::number && b == Standing::number) {
    return tally.agree(left, right, std::min(computed.sharp(part), expected.sharp(part)), what);
  }
  tally.agree_specials(left, right, computed.format(part), what);
}

void same_rows(Comparison& tally, Part part, const GradientReading& computed, const GradientReading& expected,
               std::span<const std::int64_t> from, std::span<const std::uint8_t> rows, std::string_view relation) {
  for (std::size_t r = 0; r < from.size(); ++r) {
    if (from[r] < 0 || rows[static_cast<std::size_t>(from[r])] == 0) continue;
    for (std::int64_t c = 0; c < computed.width(part); ++c) {
      same_gradient(tally, part, computed, static_cast<std::int64_t>(r), expected, from[r], c, relation);
    }
  }
}

std::string row_difference(Part part, const Tensor& a, std::int64_t a_row, const Tensor& b, std::int64_t b_row) {
  const std::int64_t width = a.shape.back();
  for (std::int64_t c = 0; c < width; ++c) {
    const std::uint64_t p = a.bits(a_row * width + c), q = b.bits(b_row * width + c);
    const double x = decode(a.format, p), y = decode(b.format, q);
    if (p == q || (std::isnan(x) && std::isnan(y))) continue;
    return fmt::format("{}: {:.9g} (0x{:x}) against {:.9g} (0x{:x})", place_of(part, a_row, c), x, p, y, q);
  }
  return {};
}

std::string first_gradient_difference(const Output& a, const Output& b) {
  for (const Part part : kGradientParts) {
    const Tensor &x = tensor_of(a, part), &y = tensor_of(b, part);
    if (x.shape != y.shape) return "the gradients have different shapes";
    for (std::int64_t row = 0; row < x.shape[0] * x.shape[1] * x.shape[2]; ++row) {
      if (std::string found = row_difference(part, x, row, y, row); !found.empty()) return found;
    }
  }
  return {};
}

OrdinaryGradients ordinary_gradients(const BackwardProblem& p) {
  const AttentionProblem& f = p.forward;
  OrdinaryGradients rows{ordinary_rows(f), std::vector<std::uint8_t>(static_cast<std::size_t>(p.key_rows()), 1)};
  for_each_query(f, [&](std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t row) {
    std::uint8_t& ordinary = rows.query[static_cast<std::size_t>(row)];
    const bool finite = finite_row(p.d_out, b, h, i) && finite_row(p.o, b, h, i) && std::isfinite(p.lse.at({b, h, i}));
    ordinary = ordinary != 0 && finite ? 1 : 0;
    bool sees = false;
    const auto keys = f.visible_keys(b, i);
    for (std::int64_t j = keys.first; j < keys.last; ++j) {
      if (f.hidden_by_bias(b, h, i, j)) continue;
      sees = true;
      if (ordinary == 0) rows.key[static_cast<std::size_t>(key_row(f, b, f.kv_head(h), j))] = 0;
    }
    if (!sees) ordinary = 1;
  });
  return rows;
}

}  // namespace flashproof
