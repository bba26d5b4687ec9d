#include "fuzz/score/screen.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "reference/error/acceptance.h"

namespace flashproof {
namespace {

constexpr double kLeastProduct = 0x1p-1000;  // from here on a product has no underflow

/// bound_with_rounding() of a bound whose total is known; the constants of the format fold away.
template <Format kFormat>
double allowed(const Ball& truth, double total) {
  return total + unit_roundoff(kFormat) * (std::fabs(truth.hi) + total) + min_subnormal(kFormat) / 2;
}

class Screen {
 public:
  Screen(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract, const NextTier& next)
      : output_(output), truth_(truth), bound_(bound), contract_(contract), next_(next) {}

  Screened run() {
    require_fit(output_, truth_, bound_);
    if (returned(contract_, Part::o)) screen_o();
    if (returned(contract_, Part::lse)) screen_lse();
    Judgement& judgement = result_.judgement;
    const bool any = judgement.o.elements + judgement.lse.elements > 0;
    judgement.worst = (any ? worst_ : kNoElement).verdict();
    if (worst_.kind != VerdictKind::pass) {
      judgement.worst.detail +=
          ": " + describe(judged_element(output_, truth_, bound_, judgement, worst_part_, worst_index_));
    }
    return std::move(result_);
  }

 private:
  ErrorStats& stats(Part part) { return part == Part::o ? result_.judgement.o : result_.judgement.lse; }

  void screen_o() {
    switch (output_.o.format) {
      case Format::f32:
        return part<Part::o, Format::f32>();
      case Format::f16:
        return part<Part::o, Format::f16>();
      case Format::bf16:
        return part<Part::o, Format::bf16>();
      default:
        return unscreened(Part::o);
    }
  }

  void screen_lse() {
    if (output_.lse.format == Format::f32) return part<Part::lse, Format::f32>();
    unscreened(Part::lse);
  }

  template <Part kPart, Format kFormat>
  void part() {
    constexpr bool kOutput = kPart == Part::o;
    const std::int64_t width = kOutput ? truth_.width : 1;
    const Tensor& tensor = kOutput ? output_.o : output_.lse;
    const Balls& balls = kOutput ? truth_.o : truth_.lse;
    const ElementBound* const bounds = kOutput ? bound_.o.data() : bound_.lse.data();
    std::uint64_t clear = 0;
    for (std::int64_t row = 0; row < truth_.rows; ++row) {
      const RowDomain& domain = bound_.domain[static_cast<std::size_t>(row)];
      const bool in_domain = domain.holds() && (!contract_.refuses_beyond_range || domain.form.holds());
      for (std::int64_t column = 0; column < width; ++column) {
        const auto i = static_cast<std::size_t>(row * width + column);
        const double computed = decode(kFormat, bits_of<kFormat>(tensor, i));
        const Ball ball = balls[i];
        const ElementBound& b = bounds[i];
        const double total = b.total();
        const double range = kOutput ? bound_.range[i] : std::numeric_limits<double>::infinity();
        const bool tested = total == 0 || total < range / 2;
        const bool outside = kOutput && bound_.accumulator_outside[i] != 0;
        if (!(in_domain && !outside && tested && ball.classes == kFinite &&
              surely_inside(kFormat, computed, ball, probable_bound(b)))) {
          unclear(kPart, row, column);
          continue;
        }
        ++clear;
        if (first_ || worst_.kind != VerdictKind::pass) meet_pass();
        if (total > 0) climb_peak<kPart>(computed, ball, b, allowed<kFormat>(ball, total), row, column);
      }
    }
    ErrorStats& counts = stats(kPart);
    counts.elements += clear;
    counts.finite_elements += clear;
    counts.verdicts[static_cast<std::size_t>(VerdictKind::pass)] += clear;
    counts.failures[static_cast<std::size_t>(Failure::none)] += clear;
    counts.classes[0] += clear;
  }

  template <Format kFormat>
  static std::uint64_t bits_of(const Tensor& tensor, std::size_t i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, tensor.storage.data() + i * bytes_of(kFormat), bytes_of(kFormat));
    return bits;
  }

  void meet_pass() {
    if (first_ || weight(worst_.kind) < weight(VerdictKind::pass)) worst_ = {};
    first_ = false;
  }

  /// peaks() for one element that can represent a term and did not fail.
  template <Part kPart>
  void climb_peak(double computed, const Ball& ball, const ElementBound& b, double limit, std::int64_t row,
                  std::int64_t column) {
    // The first of the largest, in the order of Term, without a branch that a processor would have to guess.
    constexpr bool kOutput = kPart == Part::o;
    constexpr Term kOrder[] = {
        kOutput ? Term::o_weights : Term::lse_weights,
        kOutput ? Term::o_numerator : Term::lse_weights,  // lse has none: its share of 0 is never the larger
        kOutput ? Term::o_denominator : Term::lse_denominator, kOutput ? Term::o_output : Term::lse_output};
    const double shares[] = {b.weights, kOutput ? b.numerator : 0, b.denominator,
                             limit - b.weights - b.numerator - b.denominator};
    double most = shares[0];
    std::size_t first = 0;
    for (std::size_t i = 1; i < std::size(shares); ++i) {
      first = shares[i] > most ? i : first;
      most = shares[i] > most ? shares[i] : most;
    }
    const auto term = static_cast<std::size_t>(kOrder[first]);
    Peak& peak = result_.peaks[term];
    const double product = peak.ratio * limit;
    const double most_excess = (std::fabs(computed - ball.hi) + std::fabs(ball.lo)) * (1 + 0x1p-49);
    if (product >= kLeastProduct && most_excess <= product * (1 - 0x1p-50)) return;
    const double excess = std::max(std::fabs(signed_error(computed, ball)) - ball.radius, 0.0);
    const bool sure = product >= kLeastProduct || excess == 0;
    if (sure && !(excess > product * (1 - 0x1p-50))) return;
    const double ratio = excess / limit;
    if (ratio > peak.ratio) peak = {ratio, kPart, row, column};
  }

  void unclear(Part part, std::int64_t row, std::int64_t column) {
    Element element = element_at(output_, truth_, bound_, part, row, column);
    const std::int64_t index = part == Part::o ? row * truth_.width + column : row;
    const auto [decision, climbed] = settle(element, contract_, next_);
    Judgement& judgement = result_.judgement;
    if (climbed) (part == Part::o ? judgement.climbed_o : judgement.climbed_lse).emplace(index, element.truth);
    stats(part).count(element, decision);
    if (first_ || outweighs(decision, worst_)) {
      worst_ = decision;
      worst_part_ = part;
      worst_index_ = index;
      first_ = false;
    }
    if (!can_represent(element) || decision.failed()) return;
    const double ratio = term_ratio(element, bound_with_rounding(element.format, element.truth, element.bound));
    Peak& peak = result_.peaks[static_cast<std::size_t>(largest_term(element))];
    if (ratio > peak.ratio) peak = {ratio, part, row, column};
  }

  void unscreened(Part part) {
    for (std::int64_t row = 0; row < truth_.rows; ++row) {
      for (std::int64_t column = 0; column < (part == Part::o ? truth_.width : 1); ++column) unclear(part, row, column);
    }
  }

  const Output& output_;
  const Truth& truth_;
  const Bound& bound_;
  const Contract& contract_;
  const NextTier& next_;
  Screened result_;
  Decision worst_;
  bool first_ = true;
  Part worst_part_ = Part::o;
  std::int64_t worst_index_ = 0;
};

}  // namespace

Screened screen(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                const NextTier& next) {
  return Screen(output, truth, bound, contract, next).run();
}

}  // namespace flashproof
