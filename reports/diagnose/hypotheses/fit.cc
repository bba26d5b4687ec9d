#include "reports/diagnose/hypotheses/fit.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "reference/error/element.h"
#include "reference/error/error_stats.h"
#include "reports/diagnose/hypotheses/alternative.h"

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
    std::uint64_t elements = 0;
    double bits = 0;
    std::vector<double> fills;
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
        bits = std::max(bits, surprise(part, index));  // columns of a row share its mistake
        if (seen_.symptom(part, index) == Symptom::number) fills.push_back(filled(part, index));
      }
      return true;
    });
    if (!all) return false;
    total.elements += elements;
    total.bits += bits;
    total.fills.insert(total.fills.end(), fills.begin(), fills.end());
    return true;
  }
  /// Of a row that is right: would the hypothesis show in an element, and does not? Where the bound reaches as far as the hypothesis's
  /// truth, or the row is outside the domain, either is right.
  bool refutes() const {
    bool any = false;
    each([&](Part part, std::int64_t index, std::int64_t column) {
      if (seen_.kind(part, index) != VerdictKind::pass) return true;
      if (other_.decide(part, row_, column).kind != VerdictKind::fail) return true;
      return !(any = shows(part, index));
    });
    return any;
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

  /// The judge would reject the hypothesis's number here; asked after decide().
  bool shows(Part part, std::int64_t index) const {
    const Element e = element_at(seen_.output(), seen_.truth(), seen_.bound(), part, index);
    if (((e.truth.classes | other_.ball.classes) & ~kFinite) != 0) return e.truth.classes != other_.ball.classes;
    return std::fabs(e.truth.hi - other_.ball.hi) > bound_with_rounding(e.format, e.truth, e.bound) + other_.reach;
  }
  double filled(Part part, std::int64_t index) const {
    const Tensor& tensor = seen_.output()[part];
    const double error = decode(tensor.format, tensor.bits(index)) - other_.ball.hi;
    const double away = part != Part::lse && other_.ball.hi < 0 ? -error : error;
    const double reach = other_.likely > 0 ? std::min(other_.likely, other_.reach) : other_.reach;
    return reach > 0 ? away / reach : 0;
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

/// Of the part that has most of them: a row's o and its lse share a sum, so that one row is always a scaled one.
std::int64_t failing_rows(const Observation& seen) {
  std::int64_t most = 0;
  for (const Part part : seen.parts()) {
    const std::int64_t width = seen.width(part);
    std::int64_t failing = 0;
    for (std::int64_t row = 0; row < seen.rows(part); ++row) {
      bool fails = false;
      for (std::int64_t c = 0; c < width && !fails; ++c) fails = seen.kind(part, row * width + c) == VerdictKind::fail;
      failing += fails ? 1 : 0;
    }
    most = std::max(most, failing);
  }
  return most;
}

/// The factor (lse: the summand) that brings the truth nearest to these elements, in units of the bound, and whether that is near
/// enough; `numbers`: how many of them are.
bool is_scaled(const Observation& seen, Part part, std::int64_t begin, std::int64_t end, std::size_t& count) {
  struct Number {
    double computed, truth, reach;
  };
  std::vector<Number> numbers;
  double with = 0, own = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    if (seen.symptom(part, i) != Symptom::none && seen.symptom(part, i) != Symptom::number) return false;
    const Element e = element_at(seen.output(), seen.truth(), seen.bound(), part, i);
    const double reach = bound_with_rounding(e.format, e.truth, e.bound);
    if ((e.truth.classes & kFinite) == 0 || class_of(e.computed) != kFinite || !std::isfinite(reach) || reach <= 0)
      continue;
    const Number n{e.computed, e.truth.hi, reach};
    const double x = (part == Part::lse ? 1 : n.truth) / reach;
    const double y = (part == Part::lse ? n.computed - n.truth : n.computed) / reach;
    with += x * y, own += x * x;
    numbers.push_back(n);
  }
  count = numbers.size();
  const double c = own > 0 ? with / own : 0;
  return std::ranges::all_of(numbers, [&](const Number& n) {
    const double nearest = part == Part::lse ? n.truth + c : n.truth * c;
    return std::fabs(n.computed - nearest) <= n.reach * std::max(1.0, std::fabs(part == Part::lse ? 1.0 : c));
  });
}

bool is_scaled(const Observation& seen, Part part) {
  std::size_t count = 0;
  return is_scaled(seen, part, 0, seen.rows(part) * seen.width(part), count);
}

}  // namespace

Fit fit(const Hypothesis& hypothesis, const Observation& seen) {
  Fit result;
  if (!seen.error().empty()) return result;
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
        if (failing && !one.fits(result)) return result;
        if (failing) result.explained.push_back({part, row});
        if (!failing && one.refutes()) result.refuted.push_back({part, row});
      }
    }
  }
  result.explains = result.elements > 0;
  return result;
}

bool is_scaled(const Observation& seen) {
  if (!seen.error().empty() || failing_rows(seen) < 2) return false;
  return std::ranges::all_of(
      seen.parts(), [&](Part part) { return !returned(seen.kernel().contract, part) || is_scaled(seen, part); });
}

bool rows_are_scaled(const Observation& seen) {
  if (!seen.error().empty() || seen.kernel().problem != ProblemKind::softmax) return false;
  if (!returned(seen.kernel().contract, Part::o)) return false;
  const std::int64_t width = seen.width(Part::o);
  bool any = false;
  for (std::int64_t row = 0; row < seen.rows(Part::o); ++row) {
    const std::int64_t begin = row * width, end = begin + width;
    bool fails = false;
    for (std::int64_t i = begin; i < end && !fails; ++i) fails = seen.kind(Part::o, i) == VerdictKind::fail;
    if (!fails) continue;
    std::size_t count = 0;
    if (!is_scaled(seen, Part::o, begin, end, count)) return false;
    any = any || count >= kColumnsOfFactor;
  }
  return any;
}

}  // namespace flashproof
