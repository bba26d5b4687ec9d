#include "reports/diagnose/hypotheses/hypothesis_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// Some 180 hypotheses are held against the same output. A wrong one takes a failing row for right by chance with
/// probability 2^-bits (fit.h); 20 bits in all, and 2 rows at least, leave less than one in 5,000 for all of them together.
constexpr double kEnoughBits = 20;
constexpr std::uint64_t kEnoughElements = 2;
constexpr std::size_t kSureRows = 2, kSureCases = 2;  // where more than one case fails
/// A hypothesis that explains by a wider bound has to do so for as many numbers as this, in most of the failing cases, with errors
/// of which the middle one fills its bound to this share (a bound that is much too wide takes anything), and which go either way:
/// so many of them at least are away from 0, so many towards it. Cases that one factor explains are none of its cases.
constexpr std::size_t kEnoughWidened = 12;
constexpr double kMostCases = 0.7, kFilled = 1.0 / 16, kEitherSign = 1.0 / 16;

struct Candidate {
  const Hypothesis* hypothesis = nullptr;
  std::vector<std::optional<Fit>> fits;  // of each failing case; nothing: it does not explain it
  std::uint64_t elements = 0;
  std::size_t rows = 0;
  double bits = 0;
  // Widened: how many numbers, the middle one of their errors in units of its bound, and the share of the rarer sign.
  std::size_t numbers = 0;
  double fills = 0, either_sign = 0;
  std::size_t refuted = 0;  // rows, of failing and, where it was asked, of passing cases
  bool asked_passing = false;

  bool explains(std::size_t i) const { return fits[i].has_value(); }
  std::size_t cases(const std::vector<bool>& open) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < fits.size(); ++i) n += open[i] && explains(i) ? 1 : 0;
    return n;
  }
  void add_up(const std::vector<bool>& open) {
    elements = rows = 0, bits = 0;
    std::vector<double> errors;
    for (std::size_t i = 0; i < fits.size(); ++i) {
      if (!open[i] || !explains(i)) continue;
      elements += fits[i]->elements, rows += fits[i]->explained.size(), bits += fits[i]->bits;
      errors.insert(errors.end(), fits[i]->fills.begin(), fits[i]->fills.end());
    }
    if (widens()) add_up(std::move(errors));
  }
  void add_up(std::vector<double> errors) {
    numbers = errors.size(), fills = either_sign = 0;
    if (errors.empty()) return;
    const auto away = std::ranges::count_if(errors, [](double e) { return e > 0; });
    const double share = static_cast<double>(away) / static_cast<double>(numbers);
    either_sign = std::min(share, 1 - share);
    for (double& e : errors) e = std::fabs(e);
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(numbers / 2);
    std::ranges::nth_element(errors, middle);
    fills = *middle;
  }
  bool widens() const { return hypothesis->widens; }
  bool enough(const std::vector<bool>& open) const {
    if (!widens()) return elements >= kEnoughElements && bits >= kEnoughBits;
    return numbers >= kEnoughWidened && fills >= kFilled && (hypothesis->one_signed || either_sign >= kEitherSign) &&
           static_cast<double>(cases(open)) >= kMostCases * static_cast<double>(fits.size());
  }
  bool sure(const std::vector<bool>& open) const {
    return rows >= kSureRows && cases(open) >= std::min(kSureCases, open.size()) &&
           static_cast<double>(cases(open)) >= kConfidentShare * static_cast<double>(open.size());
  }
  /// How it does on cases that pass; asked of the few that may be told.
  void ask_passing(const Looked& looked) {
    if (std::exchange(asked_passing, true) || widens()) return;
    for (const Observation& seen : looked.passing) refuted += fit(*hypothesis, seen).refuted.size();
  }
};

/// Weights that are wrong one by one make o wrong, not the sum alone.
bool shows_in_o(const Observation& seen) {
  if (!returned(seen.kernel().contract, Part::o)) return true;
  for (const Part part : seen.parts()) {
    if (part == Part::lse) continue;
    const std::int64_t elements = seen.rows(part) * seen.width(part);
    for (std::int64_t i = 0; i < elements; ++i) {
      if (seen.kind(part, i) == VerdictKind::fail) return true;
    }
  }
  return false;
}

std::vector<Candidate> candidates(const Kernel& kernel, const Looked& looked) {
  std::vector<Candidate> list;
  std::vector<bool> scaled, by_weight;
  scaled.reserve(looked.failing.size());
  by_weight.reserve(looked.failing.size());
  for (const Observation& seen : looked.failing) {
    scaled.push_back(is_scaled(seen));
    by_weight.push_back(shows_in_o(seen) && !rows_are_scaled(seen));
  }
  for (const Hypothesis& h : hypotheses(kernel.problem)) {
    Candidate c;
    c.hypothesis = &h;
    bool any = false;
    for (std::size_t i = 0; i < looked.failing.size(); ++i) {
      // Another arithmetic errs by the same numbers in every call.
      const bool is_other = (h.widens && (scaled[i] || !looked.fails_alike(i))) || (h.by_weight && !by_weight[i]);
      Fit f = is_other ? Fit{} : fit(h, looked.failing[i]);
      any |= f.explains;
      c.fits.push_back(f.explains ? std::optional(std::move(f)) : std::nullopt);
    }
    if (!any) continue;
    for (const auto& f : c.fits) c.refuted += f ? f->refuted.size() : 0;
    list.push_back(std::move(c));
  }
  return list;
}

/// Where a hypothesis holds and where it would make a difference and does not. `exact`: it holds everywhere, or what is told separates
/// the two.
std::string condition_of(const Kernel& kernel, const Candidate& c, const Looked& looked, bool& exact) {
  Units units(kernel);
  std::size_t explained = 0, refuted = 0;
  const auto add = [&](const Observation& seen, const std::vector<RowOfPart>& rows, bool failing) {
    const auto n = static_cast<std::int64_t>(rows.size());
    for (std::int64_t i = 0; i < n; i += stride_of(n))
      units.add(seen, rows[static_cast<std::size_t>(i)], failing, kNoColumn);
  };
  for (std::size_t i = 0; i < looked.failing.size(); ++i) {
    if (!c.fits[i]) continue;
    add(looked.failing[i], c.fits[i]->explained, true);
    add(looked.failing[i], c.fits[i]->refuted, false);
    explained += c.fits[i]->explained.size();
    refuted += c.fits[i]->refuted.size();
  }
  for (const Observation& seen : looked.passing) {
    const Fit f = fit(*c.hypothesis, seen);
    add(seen, f.refuted, false);
    refuted += f.refuted.size();
  }
  exact = refuted == 0;
  if (exact) return "";
  const auto found = units.condition("rows");
  exact = found.has_value();
  if (found) return found->sentence;
  constexpr std::size_t kFew = 10;  // one of so many is no condition that was not found
  if (kFew * refuted < explained) {
    return fmt::format("but {} of {}, where it would show, {} right", refuted,
                       counted(explained + refuted, "row", "rows"), refuted == 1 ? "is" : "are");
  }
  return fmt::format("only in some rows: {}, where it would show, {} right", counted(refuted, "other", "others"),
                     refuted == 1 ? "is" : "are");
}

/// Of two that explain the same cases.
bool better(const Candidate& a, const Candidate& b, const std::vector<bool>& open) {
  if (a.cases(open) != b.cases(open)) return a.cases(open) > b.cases(open);
  if (a.widens() != b.widens()) return b.widens();
  if (a.widens()) return a.fills > b.fills;  // the narrowest that does it
  if ((a.refuted == 0) != (b.refuted == 0)) return a.refuted == 0;
  return a.hypothesis->complexity < b.hypothesis->complexity;
}

}  // namespace

std::vector<Cause> by_hypotheses(const Kernel& kernel, const Looked& looked, std::vector<bool>& open) {
  std::vector<Candidate> list = candidates(kernel, looked);
  std::vector<Cause> causes;
  for (;;) {
    std::size_t most = 0;
    for (Candidate& c : list) {
      c.add_up(open);
      if (c.enough(open)) most = std::max(most, c.cases(open));
    }
    const Candidate* best = nullptr;
    for (Candidate& c : list) {
      if (!c.enough(open) || c.cases(open) < std::max<std::size_t>(most, 1)) continue;
      c.ask_passing(looked);
      if (best == nullptr || better(c, *best, open)) best = &c;
    }
    if (best == nullptr) return causes;
    Cause cause;
    cause.id = best->hypothesis->id;
    cause.sentence = best->hypothesis->sentence;
    cause.cases = best->cases(open);
    cause.elements = best->elements;
    cause.confident = best->sure(open);
    for (const Candidate& c : list) {
      if (c.hypothesis->id == cause.id || c.widens() != best->widens() || !c.enough(open)) continue;
      bool same = true;
      for (std::size_t i = 0; i < open.size(); ++i) same = same && (!open[i] || !best->explains(i) || c.explains(i));
      const bool equal = best->widens() ? 2 * c.fills >= best->fills
                                        : (c.refuted == 0) == (best->refuted == 0) &&
                                              c.hypothesis->complexity == best->hypothesis->complexity;
      if (!same || !equal || std::ranges::find(cause.others, c.hypothesis->id) != cause.others.end()) continue;
      if (cause.others.empty()) cause.other_sentence = c.hypothesis->sentence;
      cause.others.push_back(c.hypothesis->id);
    }
    if (cause.others.size() > 1) cause.confident = false;  // that is no diagnosis
    bool exact = true;
    if (!best->widens()) cause.condition = condition_of(kernel, *best, looked, exact);
    // What a mistake leaves behind looks like many others, in some rows.
    if (!exact && std::ranges::any_of(causes, &Cause::confident)) cause.confident = false;
    for (std::size_t i = open.size(); i-- > 0;) {
      if (!open[i] || !best->explains(i)) continue;
      cause.witness = to_string(looked.failing[i].subject().spec);
      open[i] = false;
    }
    causes.push_back(std::move(cause));
  }
}

}  // namespace flashproof
