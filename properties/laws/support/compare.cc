#include "properties/laws/support/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "properties/laws/trial.h"
#include "reference/error/error_stats.h"
#include "reference/error/semantics/declared_truth.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

Measured rounded(double value, double radius) {
  if (!std::isfinite(value) || !std::isfinite(radius)) return {0, kInfinity};
  return {value, radius * (1 + kSlop) + std::fabs(value) * kSlop};
}

std::string number(double value) { return fmt::format("{:.9g}", value); }

}  // namespace

Measured operator+(Measured a, Measured b) {
  Measured sum = rounded(a.value + b.value, a.radius + b.radius);
  sum.radius += (std::fabs(a.value) + std::fabs(b.value)) * kSlop;
  return sum;
}

Measured operator-(Measured a, Measured b) { return a + Measured{-b.value, b.radius}; }

Measured operator*(Measured a, Measured b) {
  return rounded(a.value * b.value,
                 std::fabs(a.value) * b.radius + std::fabs(b.value) * a.radius + a.radius * b.radius);
}

Measured exp(Measured a) {
  // libm's exp and expm1 are within an ulp or two, far below kSlop.
  const double value = std::exp(a.value);
  double radius = value * std::expm1(a.radius);
  if (value < std::numeric_limits<double>::min()) {
    // Underflow: the product would lose what the radius makes of it, so all of e^{a+r}, its exponent rounded upward.
    const double upper = a.value + a.radius;
    radius = std::exp(upper + std::fabs(upper) * 0x1p-52) + std::numeric_limits<double>::min();
  }
  return rounded(value, radius);
}

Measured log(Measured a) {
  // ln a − ln(a − r) = −ln(1 − r/a), the quotient rounded upward: near 1 its last bit counts.
  const double share = a.radius / a.value * (1 + 0x1p-51);
  if (!(a.value > 0) || !(share < 1)) return {0, kInfinity};
  return rounded(std::log(a.value), -std::log1p(-share));
}

const ElementBound& Reading::bound_of(Part part, std::int64_t row, std::int64_t column) const {
  return part == Part::o ? bound_.o[static_cast<std::size_t>(row * bound_.width + column)]
                         : bound_.lse[static_cast<std::size_t>(row)];
}

Tensor natural_lse(const Output& output, const Contract& contract) {
  Tensor lse = output.lse;
  for (std::int64_t i = 0; contract.semantics.lse_base == LseBase::two && i < lse.elements(); ++i) {
    const double value = decode(lse.format, lse.bits(i));
    if (class_of(value) == kFinite) lse.set_bits(i, encode(lse.format, value * std::numbers::ln2));
  }
  return lse;
}

bool Reading::in_base_2(Part part) const { return part == Part::lse && contract_.semantics.lse_base == LseBase::two; }

double Reading::value(Part part, std::int64_t row, std::int64_t column) const {
  if (part == Part::o) return decode(output_.o.format, output_.o.bits(row * bound_.width + column));
  const double lse = decode(output_.lse.format, output_.lse.bits(row));
  return in_base_2(part) && class_of(lse) == kFinite ? round_to(output_.lse.format, lse * std::numbers::ln2) : lse;
}

Standing Reading::standing(Part part, std::int64_t row, std::int64_t column) const {
  const auto r = static_cast<std::size_t>(row);
  const auto i = static_cast<std::size_t>(row * bound_.width + column);
  const RowDomain& domain = part == Part::o ? bound_.domain_of(r, i) : bound_.domain[r];
  const bool refused = contract_.refuses_beyond_range && !domain.form.holds();
  if (!domain.holds() || refused || !(bound_of(part, row, column).total() < kInfinity)) return Standing::excused;
  return class_of(value(part, row, column)) == kFinite ? Standing::number : Standing::special;
}

Measured Reading::at(Part part, std::int64_t row, std::int64_t column) const {
  const double computed = value(part, row, column);
  const double allowed = bound_of(part, row, column).total();
  if (class_of(computed) != kFinite) return {computed, allowed};
  double spacing = ulp(format(part), computed) / 2;
  if (in_base_2(part)) {
    // As returned, half an ulp of it; and what a logarithm to base 2 may have more.
    const double returned = decode(output_.lse.format, output_.lse.bits(row));
    const double more = base_2_rounding(bound_of(part, row, column), bound_.frame[static_cast<std::size_t>(row)]);
    spacing += std::numbers::ln2 * (ulp(format(part), returned) / 2 + more) * (1 + 0x1p-20);
  }
  return {computed, allowed + spacing};
}

double Reading::sharp(Part part, std::int64_t row, std::int64_t column) const {
  return part == Part::o ? bound_.range[static_cast<std::size_t>(row * bound_.width + column)] / 2 : 0.25;
}

bool Comparison::count(double difference, double allowed, double sharp) {
  if (!(std::fabs(difference) <= allowed)) return true;  // so a NaN fails
  // Two exact numbers that agree were compared exactly, whatever the spread.
  (allowed < sharp || allowed == 0 ? sharp_ : blunt_) += 1;
  return false;
}

void Comparison::fail(Failure failure, double difference, double allowed, const Measured& computed,
                      const Measured& expected, const std::string& what) {
  ++failures_;
  const double ratio = allowed > 0 ? std::fabs(difference) / allowed : kInfinity;
  Verdict verdict{VerdictKind::fail, failure,
                  fmt::format("{}: {} against {}, differ by {}, may by {}", what, number(computed.value),
                              number(expected.value), number(std::fabs(difference)), number(allowed))};
  const bool further = failed_.failure == failure && ratio > worst_;
  if (!outweighs(verdict, failed_) && !further) return;
  worst_ = ratio;
  failed_ = std::move(verdict);
}

void Comparison::fail(Failure failure, std::string detail) {
  ++failures_;
  Verdict verdict{VerdictKind::fail, failure, std::move(detail)};
  if (outweighs(verdict, failed_)) failed_ = std::move(verdict);
}

bool Comparison::add(const Verdict& part, Failure failure, std::string_view relation) {
  if (part.failed()) {
    fail(failure, part.detail + std::string(relation));
  } else if (part.kind == VerdictKind::pass) {
    held();
  } else if (undecided_.empty()) {
    undecided_ = part.detail;
  }
  return !part.failed();
}

bool Comparison::taken(std::string refusal) {
  if (refusal.empty()) return true;
  refusal_ = std::move(refusal);
  return false;
}

Specials specials(const Measured& a, const Measured& b, Format format) {
  if ((std::isnan(a.value) && std::isnan(b.value)) || a.value == b.value) return Specials::same;
  if (std::isnan(a.value) || std::isnan(b.value)) return Specials::differ;
  // Of exact x: +inf allows x >= most − radius, −inf x <= −(most − radius), a number |x − value| <= radius.
  const double most = info(format).max_finite;
  const double reach = a.radius + b.radius;
  if (std::isinf(a.value) && std::isinf(b.value)) return reach >= 2 * most ? Specials::may_be : Specials::differ;
  const Measured& infinite = std::isinf(a.value) ? a : b;
  const Measured& finite = std::isinf(a.value) ? b : a;
  const double towards = std::signbit(infinite.value) ? -finite.value : finite.value;
  return towards + reach >= most ? Specials::may_be : Specials::differ;
}

std::string Comparison::difference_of(const Measured& computed, const Measured& expected, const std::string& what) {
  return fmt::format("{}: {} against {}", what, number(computed.value), number(expected.value));
}

void Comparison::same_element(const Reading& computed, const Reading& expected, Part part, std::int64_t row,
                              std::int64_t column, std::int64_t expected_row, std::int64_t expected_column,
                              std::string_view relation) {
  const Standing a = computed.standing(part, row, column);
  const Standing b = expected.standing(part, expected_row, expected_column);
  if (a == Standing::excused || b == Standing::excused) return;
  const Measured left = computed.at(part, row, column);
  const Measured right = expected.at(part, expected_row, expected_column);
  const auto what = [&] { return fmt::format("{}, {}", place_of(part, row, column), relation); };
  if (a == Standing::number && b == Standing::number) {
    const double sharp =
        std::min(computed.sharp(part, row, column), expected.sharp(part, expected_row, expected_column));
    agree(left, right, sharp, what);
    return;
  }
  agree_specials(left, right, computed.format(part), what);
}

void Comparison::same(const Reading& computed, const Reading& expected, std::string_view relation,
                      std::span<const std::uint8_t> rows) {
  for (std::int64_t r = 0; r < computed.rows(); ++r) {
    if (!rows.empty() && rows[static_cast<std::size_t>(r)] == 0) continue;
    same_element(computed, expected, Part::lse, r, 0, r, 0, relation);
    for (std::int64_t c = 0; c < computed.width(); ++c) same_element(computed, expected, Part::o, r, c, r, c, relation);
  }
}

Verdict Comparison::verdict(std::string_view nothing) const {
  if (failed_.failed()) {
    Verdict verdict = failed_;
    if (failures_ > 1) verdict.detail += fmt::format("; {} more", failures_ - 1);
    return verdict;
  }
  if (sharp_ > 0) return {};
  if (!undecided_.empty()) return vacuous(undecided_);
  if (blunt_ == 0 && !refusal_.empty()) return unsupported(refusal_);
  return vacuous(blunt_ > 0 ? "every bound is too wide to compare anything" : std::string(nothing));
}

namespace {

std::string tensor_difference(const Tensor& a, std::int64_t a_first, const Tensor& b, std::int64_t b_first,
                              std::int64_t elements, Part part, std::int64_t row, std::int64_t width) {
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t p = a.bits(a_first + i), q = b.bits(b_first + i);
    const double x = decode(a.format, p), y = decode(b.format, q);
    if (p == q || (std::isnan(x) && std::isnan(y))) continue;
    return fmt::format("{}: {} (0x{:x}) against {} (0x{:x})", place_of(part, row + i / width, i % width), number(x), p,
                       number(y), q);
  }
  return {};
}

}  // namespace

std::string first_difference(const Output& a, const Output& b) {
  if (a.o.shape != b.o.shape || a.lse.shape != b.lse.shape) return "the outputs have different shapes";
  const std::int64_t width = a.o.shape[1];
  std::string found = tensor_difference(a.o, 0, b.o, 0, a.o.elements(), Part::o, 0, std::max<std::int64_t>(width, 1));
  if (found.empty()) found = tensor_difference(a.lse, 0, b.lse, 0, a.lse.elements(), Part::lse, 0, 1);
  return found;
}

std::string first_difference(const Output& a, std::int64_t a_row, const Output& b, std::int64_t b_row) {
  const std::int64_t width = a.o.shape[1];
  std::string found = tensor_difference(a.o, a_row * width, b.o, b_row * width, width, Part::o, a_row,
                                        std::max<std::int64_t>(width, 1));
  if (found.empty()) found = tensor_difference(a.lse, a_row, b.lse, b_row, 1, Part::lse, a_row, 1);
  return found;
}

std::string place_of(Part part, std::int64_t row, std::int64_t column) {
  if (part == Part::lse) return fmt::format("lse[row {}]", row);
  return fmt::format("{}[row {}, column {}]", name(part), row, column);
}

}  // namespace flashproof
