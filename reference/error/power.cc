#include "reference/error/power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/error/error_stats.h"

namespace flashproof {
namespace {

constexpr Decided kAccepts[kTrivials] = {Decided::zero,    Decided::one,     Decided::copy, Decided::uniform,
                                         Decided::extreme, Decided::maximum, Decided::twice};

/// Never rounded to none or to all.
std::string percent(double share) {
  if (share <= 0 || share >= 1) return share <= 0 ? "nothing" : "all";
  return fmt::format("{:.{}f} %", std::clamp(100 * share, 0.1, 99.9), share < 0.01 || share > 0.99 ? 1 : 0);
}

/// What the undecided share of an output is: "... of it <this>".
std::string reason_text(Decided reason) {
  switch (reason) {
    case Decided::yes:
    case Decided::trivial:
      return "is decided";
    case Decided::outside:
      return "lies outside the domain that the kernel declares, where NaN would do";
    case Decided::open:
      return "has more than one right class, or none that is declared";
    case Decided::infinity:
      return "has a bound that reaches the end of the format, so that an infinity would do";
    default:
      return fmt::format("has a bound that accepts {}",
                         name(static_cast<Trivial>(std::ranges::find(kAccepts, reason) - std::begin(kAccepts))));
  }
}

}  // namespace

std::string_view name(Decided decided) {
  constexpr std::string_view kNames[kDecided] = {"decided", "trivial", "outside", "open",    "infinity", "zero",
                                                 "one",     "copy",    "uniform", "extreme", "maximum",  "twice"};
  return kNames[static_cast<std::size_t>(decided)];
}

std::uint64_t PowerCounts::elements() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

double PowerCounts::share() const {
  const std::uint64_t all = elements();
  return all == 0 ? 1 : static_cast<double>(of(Decided::yes) + of(Decided::trivial)) / static_cast<double>(all);
}

Decided PowerCounts::reason() const {
  const auto most = std::max_element(counts.begin() + static_cast<int>(Decided::outside), counts.end());
  return *most == 0 ? Decided::yes : static_cast<Decided>(most - counts.begin());
}

void PowerCounts::merge(const PowerCounts& other) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

std::uint64_t Power::elements() const {
  std::uint64_t sum = 0;
  for (const PowerCounts& part : parts) sum += part.elements();
  return sum;
}

std::uint64_t Power::decided() const {
  std::uint64_t sum = 0;
  for (const PowerCounts& part : parts) sum += part.of(Decided::yes);
  return sum;
}

void Power::merge(const Power& other) {
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].merge(other.parts[i]);
}

std::optional<Part> Power::weakest(double least) const {
  std::optional<Part> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].share() >= least) continue;
    if (!found || parts[i].share() < of(*found).share()) found = static_cast<Part>(i);
  }
  return found;
}

Decided decided(const Element& e, const Contract& contract, const TrivialGap& gap) {
  if (!e.domain.holds() || (contract.refuses_beyond_range && !e.domain.form.holds())) return Decided::outside;
  if (e.truth.classes != kFinite) {
    const bool single = (e.truth.classes & (e.truth.classes - 1)) == 0 && e.truth.classes != kUnspecified;
    return single ? Decided::trivial : Decided::open;
  }
  const double reach = bound_with_rounding(e.format, e.truth, e.bound);
  if (!(std::fabs(e.truth.hi) + reach + e.truth.radius < info(e.format).max_finite)) return Decided::infinity;
  if (!(reach < gap.distance)) return kAccepts[static_cast<std::size_t>(gap.nearest)];
  return gap.right ? Decided::trivial : Decided::yes;
}

Power power_of(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
               const Contract& contract, const TrivialGaps& gaps) {
  Power power;
  for (const Part part : parts_of(output)) {
    if (!returned(contract, part)) continue;
    const std::vector<TrivialGap>& of_part = gaps[part];
    PowerCounts& counts = power.of(part);
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element element = judged_element(output, truth, bound, judgement, part, i);
      ++counts.counts[static_cast<std::size_t>(decided(element, contract, of_part[static_cast<std::size_t>(i)]))];
    }
  }
  return power;
}

std::string power_text(Part part, const PowerCounts& counts) {
  const Decided reason = counts.reason();
  const double other = static_cast<double>(counts.of(reason)) / static_cast<double>(counts.elements());
  return fmt::format("{} of {} was decided: {} of it {}", percent(counts.share()), name(part), percent(other),
                     reason_text(reason));
}

std::string shares_text(const Power& power) {
  std::string text;
  for (std::size_t part = 0; part < kPartCount; ++part) {
    const PowerCounts& counts = power.parts[part];
    if (counts.elements() == 0) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name(static_cast<Part>(part)),
                        std::floor(100 * counts.share()));
  }
  return text;
}

Verdict require_power(Verdict verdict, const Power& power) {
  if (verdict.kind != VerdictKind::pass) return verdict;
  const std::optional<Part> weakest = power.weakest();
  if (!weakest) return verdict;
  return {VerdictKind::undecided, Failure::none, power_text(*weakest, power.of(*weakest))};
}

}  // namespace flashproof
