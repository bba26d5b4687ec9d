#include "properties/laws/support/same_outputs.h"

#include <cmath>

#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "reference/problem/hidden_keys.h"

namespace flashproof {
namespace {

constexpr std::string_view kRelation = "within both bounds";
constexpr std::string_view kNothing = "no element of which both bounds and the semantics say something";

bool looked_at(std::span<const std::uint8_t> rows, std::size_t row) { return rows.empty() || rows[row] != 0; }

std::string other_bits(const Output& a, const Output& b, std::span<const std::uint8_t> rows) {
  if (rows.empty() || a.lse.shape != b.lse.shape || a.o.shape != b.o.shape) return first_difference(a, b);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row] == 0) continue;
    const auto r = static_cast<std::int64_t>(row);
    if (std::string found = first_difference(a, r, b, r); !found.empty()) return found;
  }
  return {};
}

/// Two classes that are both right: of an infinite value whose weight may underflow ±inf and NaN, and behind the length of a row of
/// NaN, or in an empty block of it, 0 and NaN.
bool either_is_right(const Reading& a, const Reading& b, Part part, std::int64_t row, std::int64_t column,
                     std::int64_t b_row) {
  const double x = a.value(part, row, column), y = b.value(part, b_row, column);
  if (part != Part::o || std::isnan(x) == std::isnan(y)) return false;
  const double other = std::isnan(x) ? y : x;
  const bool row_of_nan = std::isnan(a.value(Part::lse, row, 0)) && std::isnan(b.value(Part::lse, b_row, 0));
  return std::isinf(other) || (other == 0 && row_of_nan);
}

/// Row r of the one and row from[r] of the other; `rows`: by from[r].
Verdict within_both_bounds(const Reading& computed, const Reading& expected, std::span<const std::int64_t> from,
                           std::span<const std::uint8_t> rows) {
  Comparison tally;
  for (std::int64_t r = 0; r < computed.rows(); ++r) {
    const std::int64_t row = from.empty() ? r : from[static_cast<std::size_t>(r)];
    if (!looked_at(rows, static_cast<std::size_t>(row))) continue;
    compare_answers(tally, computed, expected, Part::lse, r, 0, row);
    for (std::int64_t c = 0; c < computed.width(); ++c) compare_answers(tally, computed, expected, Part::o, r, c, row);
  }
  return tally.verdict(kNothing);
}

Verdict same_numbers(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows) {
  std::vector<std::uint8_t> compared = rows_with_an_answer(trial.contract(), trial.problem());
  if (compared.empty()) compared.assign(static_cast<std::size_t>(trial.bound().rows), 1);
  for (std::size_t row = 0; row < compared.size(); ++row) compared[row] &= looked_at(rows, row) ? 1 : 0;
  return within_both_bounds({a, trial.bound(), trial.contract()}, {b, trial.bound(), trial.contract()}, {}, compared);
}

Verdict same_gradients(Trial& trial, const Output& a, const Output& b) {
  const GradientReading computed(a, trial.bound()), expected(b, trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  Comparison tally;
  for (const Part part : kGradientParts) {
    same_rows(tally, part, computed, expected, iota(computed.rows(part)),
              part == Part::dq ? ordinary.query : ordinary.key, kRelation);
  }
  return tally.verdict(kNothing);
}

/// Of a kernel that declares itself deterministic, where `numbers` is what a comparison by both bounds says.
Verdict not_deterministic(const Verdict& numbers, const std::string& bits) {
  const std::string_view near =
      numbers.kind == VerdictKind::pass
          ? "other bits, both within the bound (sums in an order that depends on where tensors "
            "lie? then the kernel is not deterministic): "
          : "";
  return {VerdictKind::fail, Failure::exceeds_bound, std::string(near) + bits};
}

}  // namespace

std::string not_comparable(const Trial& trial) {
  const bool asked = trial.contract().deterministic || trial.kernel().problem == ProblemKind::backward;
  return asked ? "" : "the kernel does not declare itself deterministic";
}

Verdict same_outputs(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows) {
  const bool gradient = trial.kernel().problem == ProblemKind::backward;
  const std::string bits = gradient ? first_gradient_difference(a, b) : other_bits(a, b, rows);
  if (bits.empty()) return {};
  const Verdict numbers = gradient ? same_gradients(trial, a, b) : same_numbers(trial, a, b, rows);
  return trial.contract().deterministic ? not_deterministic(numbers, bits) : numbers;
}

void compare_answers(Comparison& tally, const Reading& computed, const Reading& expected, Part part, std::int64_t row,
                     std::int64_t column, std::int64_t expected_row) {
  if (either_is_right(computed, expected, part, row, column, expected_row)) return;
  tally.same_element(computed, expected, part, row, column, expected_row, column, kRelation);
}

Verdict same_answers(Trial& trial, const Answer& a, const Answer& b, std::span<const std::int64_t> from) {
  std::string bits;
  for (std::int64_t r = 0; bits.empty() && r < a.output.o.shape[0]; ++r) {
    const std::int64_t row = from.empty() ? r : from[static_cast<std::size_t>(r)];
    bits = first_difference(a.output, r, b.output, row);
    if (!bits.empty() && row != r) bits += ", there row " + std::to_string(row);
  }
  if (bits.empty()) return {};
  const auto bound_of = [&](const Answer& one) {
    return &one.problem == &trial.problem() ? trial.bound() : trial.bound_of(one.problem);
  };
  const Bound a_bound = bound_of(a), b_bound = bound_of(b);
  const Verdict numbers =
      within_both_bounds({a.output, a_bound, trial.contract()}, {b.output, b_bound, trial.contract()}, from,
                         rows_with_an_answer(trial.contract(), b.problem));
  return trial.contract().deterministic ? not_deterministic(numbers, bits) : numbers;
}

std::vector<std::uint8_t> rows_with_an_answer(const Contract& contract, const Problem& problem) {
  const bool all =
      contract.semantics.nan_o != NanOutput::any && (contract.isolates_hidden || needs_isolation(problem).empty());
  return all ? std::vector<std::uint8_t>{} : ordinary_rows(problem);
}

}  // namespace flashproof
