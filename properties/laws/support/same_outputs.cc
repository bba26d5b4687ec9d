#include "properties/laws/support/same_outputs.h"

#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/compare_backward.h"

namespace flashproof {
namespace {

constexpr std::string_view kRelation = "within twice the bound";

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

std::string forward_difference(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows) {
  std::string bits = other_bits(a, b, rows);
  if (bits.empty() || trial.contract().deterministic) return bits;
  std::vector<std::uint8_t> compared = ordinary_rows(trial.problem());
  for (std::size_t row = 0; row < compared.size(); ++row) compared[row] &= looked_at(rows, row) ? 1 : 0;
  const Reading computed(a, trial.bound(), trial.contract()), expected(b, trial.bound(), trial.contract());
  Comparison tally;
  tally.same(computed, expected, kRelation, compared);
  const Verdict verdict = tally.verdict("");
  return verdict.failed() ? verdict.detail : "";
}

std::string gradient_difference(Trial& trial, const Output& a, const Output& b) {
  std::string bits = first_gradient_difference(a, b);
  if (bits.empty() || trial.contract().deterministic) return bits;
  const GradientReading computed(a, trial.bound()), expected(b, trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  Comparison tally;
  for (const Part part : kGradientParts) {
    same_rows(tally, part, computed, expected, iota(computed.rows(part)),
              part == Part::dq ? ordinary.query : ordinary.key, kRelation);
  }
  const Verdict verdict = tally.verdict("");
  return verdict.failed() ? verdict.detail : "";
}

}  // namespace

std::string not_comparable(const Trial& trial) {
  const bool asked = trial.contract().deterministic || trial.kernel().problem == ProblemKind::backward;
  return asked ? "" : "the kernel does not declare itself deterministic";
}

std::string difference(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows) {
  if (trial.kernel().problem == ProblemKind::backward) return gradient_difference(trial, a, b);
  return forward_difference(trial, a, b, rows);
}

}  // namespace flashproof
