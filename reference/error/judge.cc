#include "reference/error/judge.h"

#include <limits>
#include <utility>

#include "reference/error/acceptance.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

Decision fail(Failure failure, const char* why) { return {VerdictKind::fail, failure, why}; }

/// Against [RN(o − B'), RN(o + B')]. A format without infinity spells overflow NaN, and the sign is lost: either end
/// may be the one that was meant.
Side side_of(Format format, double computed, const Acceptance& accepted) {
  if (class_of(computed) != kNaN) return side(accepted, computed);
  if (info(format).has_infinity) return Side::outside;
  const Side above = side(accepted, std::numeric_limits<double>::infinity());
  const Side below = side(accepted, -std::numeric_limits<double>::infinity());
  if (above == Side::inside || below == Side::inside) return Side::inside;
  return above == Side::outside && below == Side::outside ? Side::outside : Side::undecided;
}

bool is_vacuous(double bound, double range) {
  if (bound == 0) return false;
  return !(bound < range / 2);  // an infinite bound is not below anything, and a NaN range promises nothing
}

/// The form's own preconditions count where the kernel refuses what is beyond them.
bool in_domain(const Element& e, const Contract& contract) {
  return e.domain.holds() && (!contract.refuses_beyond_range || e.domain.form.holds());
}

/// decide() where the quick test did not: y may be anything.
Decision decide_fully(const Element& e, double limit, const Contract& contract) {
  const Class computed_class = class_of(e.computed);
  if (e.truth.classes == 0) return {VerdictKind::inconclusive, Failure::none, "the truth lists no class at all"};
  if (computed_class != kFinite && (e.truth.classes & computed_class) != 0) return {};
  if ((e.truth.classes & kFinite) == 0) {
    if (computed_class == kFinite && (e.truth.classes & kNaN) != 0) {
      return fail(Failure::laundering, "finite where NaN is the answer");
    }
    // A sum that overflows on its way to an infinity may meet the other one.
    if (computed_class == kNaN && !in_domain(e, contract)) {
      return {VerdictKind::out_of_domain, Failure::none, "outside the domain of the bound"};
    }
    return fail(Failure::class_mismatch, "not in the class of the exact result");
  }

  const Side where = side_of(e.format, e.computed, acceptance(e.format, contract.overflow, e.truth, limit));
  if (!in_domain(e, contract)) {
    if (computed_class != kFinite || where == Side::inside) {
      return {VerdictKind::out_of_domain, Failure::none,
              e.domain.holds() ? "beyond the range of the form, which the kernel refuses"
                               : "outside the domain of the bound"};
    }
    if (where == Side::outside) return fail(Failure::silently_wrong, "out of domain, finite and outside the bound");
  }
  if (where == Side::undecided) {
    return {VerdictKind::inconclusive, Failure::none, "the radius of the truth straddles the limit"};
  }
  if (where == Side::outside) {
    return computed_class == kFinite ? fail(Failure::exceeds_bound, "outside the bound")
                                     : fail(Failure::class_mismatch, "not finite, but the exact result is");
  }
  if (is_vacuous(limit, e.range)) {
    return {VerdictKind::vacuous, Failure::none, "the bound is at least half the range of the values"};
  }
  return {};
}

/// Rule 6, for an element that passed or is vacuous.
bool improbable(const Element& e, double probable, const Contract& contract) {
  return probable < e.bound.total() && (e.truth.classes & kFinite) != 0 && class_of(e.computed) == kFinite &&
         in_domain(e, contract) && !is_vacuous(probable, e.range) &&
         side(acceptance(e.format, contract.overflow, e.truth, probable), e.computed) == Side::outside;
}

/// Open because of the radius, so another ball may decide. A bound that is negative or no number never does.
bool may_climb(const Decision& decision, const Element& element) {
  return decision.kind == VerdictKind::inconclusive && element.bound.total() >= 0;
}

}  // namespace

namespace {

/// Rule 7.
bool gradient_beyond_doubles(const Element& e) {
  if (e.part == Part::o || e.part == Part::lse) return false;
  const bool beyond = e.truth.classes == kPosInf || e.truth.classes == kNegInf;
  const bool allowed = class_of(e.computed) != kFinite || class_of(e.bound.total()) == kPosInf;
  return beyond && allowed && !e.domain.holds();
}

}  // namespace

Decision decide(const Element& e, const Contract& contract) {
  if (e.truth.classes == kUnspecified) return {};
  if (gradient_beyond_doubles(e)) {
    return {VerdictKind::out_of_domain, Failure::none, "outside the domain of the bound"};
  }
  const double limit = e.bound.total();
  const double probable = probable_bound(e.bound);
  if (e.truth.classes == kFinite && in_domain(e, contract) && !is_vacuous(limit, e.range) &&
      surely_inside(e.format, e.computed, e.truth, probable)) {
    return {};
  }
  Decision decision = decide_fully(e, limit, contract);
  decision.investigate = (decision.kind == VerdictKind::pass || decision.kind == VerdictKind::vacuous) &&
                         improbable(e, probable, contract);
  return decision;
}

Settled settle(Element& element, const Contract& contract, const NextTier& next) {
  Settled settled{decide(element, contract)};
  if (!next || !may_climb(settled.decision, element)) return settled;
  settled.climbed = true;
  for (int level = 1; may_climb(settled.decision, element); ++level) {
    const RowBalls* row = next(element.row, level);
    if (row == nullptr) break;
    element.truth = element.part == Part::o ? row->o[static_cast<std::size_t>(element.column)] : row->lse;
    settled.decision = decide(element, contract);
  }
  return settled;
}

Judgement judge(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                std::uint64_t case_index, const NextTier& next) {
  require_fit(output, truth, bound);
  Judgement judgement;
  Decision worst;
  bool first = true;
  Part worst_part{};
  std::int64_t worst_index = 0;
  for (const Part part : parts_of(output)) {
    if (!returned(contract, part)) continue;
    ErrorStats& stats = judgement[part];
    auto& climbed = part == Part::o ? judgement.climbed_o : judgement.climbed_lse;
    const std::int64_t width = truth.width_of(part);
    const bool has_bias = part == Part::o || part == Part::lse;
    std::int64_t row = 0, column = -1;
    double row_spread = 0;
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      if (++column == width) {
        if (has_bias) stats.end_row(std::exchange(row_spread, 0.0));
        ++row;
        column = 0;
      }
      Element element = element_at(output, truth, bound, part, row, column);
      const auto [decision, has_climbed] = settle(element, contract, next);
      if (has_climbed) climbed.emplace(i, element.truth);
      row_spread += stats.add(element, decision, case_index, static_cast<std::uint64_t>(i));
      if (first || outweighs(decision, worst)) {
        worst = decision;
        worst_part = part;
        worst_index = i;
        first = false;
      }
    }
    if (has_bias) stats.end_row(row_spread);
  }
  judgement.worst = (first ? kNoElement : worst).verdict();
  if (worst.kind != VerdictKind::pass) {
    judgement.worst.detail += ": " + describe(judged_element(output, truth, bound, judgement, worst_part, worst_index));
  }
  return judgement;
}

Judgement judge(const Output& output, Oracle& oracle, const Bound& bound, const Contract& contract,
                std::uint64_t case_index) {
  return judge(output, oracle.truth(), bound, contract, case_index,
               [&](std::int64_t row, int level) { return oracle.row(row, level); });
}

Element judged_element(const Output& output, const Truth& truth, const Bound& bound, const Judgement& judgement,
                       Part part, std::int64_t index) {
  Element element = element_at(output, truth, bound, part, index);
  const auto& climbed = part == Part::o ? judgement.climbed_o : judgement.climbed_lse;
  if (const auto ball = climbed.find(index); ball != climbed.end()) element.truth = ball->second;
  return element;
}

}  // namespace flashproof
