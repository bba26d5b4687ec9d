#include "reports/diagnose/fit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "reports/diagnose/alternative.h"

namespace flashproof {
namespace {

/// The elements of one row: of o with its lse, or of a gradient.
class RowFit {
 public:
  RowFit(const Observation& seen, Alternative& other, Part part, std::int64_t row)
      : seen_(seen), other_(other), part_(part), row_(row) {}

  bool right() const {
    bool all = true;
    each([&](Part part, std::int64_t index, std::int64_t) {
      const VerdictKind kind = seen_.kind(part, index);
      return all = all && ((kind != VerdictKind::fail && kind != VerdictKind::inconclusive) || unwritten(part, index));
    });
    return all;
  }
  /// Wholly acceptable under the other truth; adds up what that explains.
  bool fits(Fit& total) const {
    std::uint64_t elements = 0, numbers = 0;
    double bits = 0, fills = 0;
    bool all = true;
    each([&](Part part, std::int64_t index, std::int64_t column) {
      if (unwritten(part, index)) return true;
      const VerdictKind decided = other_.decide(part, row_, column).kind;
      const bool failing = seen_.kind(part, index) == VerdictKind::fail;
      if (decided == VerdictKind::fail || decided == VerdictKind::inconclusive ||
          (failing && decided != VerdictKind::pass))
        return all = false;
      if (failing) {
        ++elements;
        bits += surprise(part, index);
        if (seen_.symptom(part, index) == Symptom::number) {
          ++numbers;
          fills = std::max(fills, filled(part, index));
        }
      }
      return true;
    });
    if (!all) return false;
    total.elements += elements;
    total.bits += bits;
    total.numbers += numbers;
    total.fills = std::max(total.fills, fills);
    return true;
  }

 private:
  bool unwritten(Part part, std::int64_t index) const { return seen_.symptom(part, index) == Symptom::unwritten; }

  /// lse first: most hypotheses fail there.
  template <class Use>
  void each(Use use) const {
    if (part_ == Part::o && returned(seen_.kernel().contract, Part::lse) && !use(Part::lse, row_, 0)) return;
    if (part_ == Part::o && !returned(seen_.kernel().contract, Part::o)) return;
    const std::int64_t width = seen_.width(part_);
    for (std::int64_t c = 0; c < width; ++c)
      if (!use(part_, row_ * width + c, c)) return;
  }

  double filled(Part part, std::int64_t index) const {
    const Tensor& tensor = seen_.output()[part];
    const double error = std::fabs(decode(tensor.format, tensor.bits(index)) - other_.ball.hi);
    return other_.reach > 0 ? error / other_.reach : 0;
  }
  double surprise(Part part, std::int64_t index) const {
    constexpr double kMost = 10;
    const Tensor& tensor = seen_.output()[part];
    if (class_of(decode(tensor.format, tensor.bits(index))) != kFinite) return 0;
    const Ball truth = seen_.truth()[part][static_cast<std::size_t>(index)];
    if (other_.ball.hi == 0 || (other_.ball.classes & kFinite) == 0) return 0;  // no number to hit
    if ((truth.classes & kFinite) == 0) return kMost / 2;
    const double gap = std::fabs(truth.hi - other_.ball.hi);
    if (!(gap > 0) || !(other_.reach > 0)) return 0;
    return std::clamp(std::log2(gap / other_.reach), 0.0, kMost);
  }

  const Observation& seen_;
  Alternative& other_;
  Part part_;
  std::int64_t row_;
};

/// The work of one row is keys times width: a case beyond this many is left out of hypotheses about weights.
bool affordable(const Observation& seen) {
  const auto* p = attention_of(seen.subject().problem);
  if (p == nullptr) return true;
  constexpr double kMost = 3e8;
  return static_cast<double>(seen.truth().rows) * static_cast<double>(p->k_length()) *
             static_cast<double>(p->head_dim() + p->value_dim()) <
         kMost;
}

}  // namespace

Fit fit(const Hypothesis& hypothesis, const Observation& seen) {
  Fit result;
  if (!seen.error().empty() || (hypothesis.row && !affordable(seen))) return result;
  const auto other = alternative(hypothesis, seen);
  if (other == nullptr) return result;
  // Failing rows first: one that does not fit ends it.
  for (const bool failing : {true, false}) {
    for (const Part part : seen.parts()) {
      if (part == Part::lse) continue;
      for (std::int64_t row = 0; row < seen.rows(part); ++row) {
        const RowFit one(seen, *other, part, row);
        if (one.right() == failing) continue;
        if (!failing && hypothesis.widens) continue;  // a wider bound takes what a narrower one takes
        if (!other->begin(part, row)) {
          if (failing) return result;
          continue;
        }
        result.changes = true;
        Fit unused;
        const bool fits = one.fits(failing ? result : unused);
        if (failing && !fits) return result;
        if (failing) result.explained.push_back({part, row});
        if (!failing && !fits) result.refuted.push_back({part, row});
      }
    }
  }
  result.explains = result.elements > 0;
  return result;
}

}  // namespace flashproof
