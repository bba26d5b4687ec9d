#include "reference/error/judge.h"

#include <limits>

#include "reference/error/acceptance.h"

namespace flashproof {
namespace {

Verdict fail(Failure failure, const char* why) { return {VerdictKind::fail, failure, why}; }

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

}  // namespace

Verdict judge_element(Format format, std::uint64_t bits, const Ball& truth, const ElementBound& bound, double range,
                      bool in_domain, const Contract& contract) {
  const double computed = decode(format, bits);
  const Class computed_class = class_of(computed);
  if (truth.classes == 0) return {VerdictKind::inconclusive, Failure::none, "the truth lists no class at all"};
  if (computed_class != kFinite && (truth.classes & computed_class) != 0) return {};
  if ((truth.classes & kFinite) == 0) {
    if (computed_class == kFinite && (truth.classes & kNaN) != 0) {
      return fail(Failure::laundering, "finite where NaN is the answer");
    }
    return fail(Failure::class_mismatch, "not in the class of the exact result");
  }

  const double limit = bound.total();
  const Side where = side_of(format, computed, acceptance(format, contract.overflow, truth, limit));
  if (!in_domain) {
    if (computed_class != kFinite || where == Side::inside) {
      return {VerdictKind::out_of_domain, Failure::none, "outside the domain of the bound"};
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
  if (is_vacuous(limit, range)) {
    return {VerdictKind::vacuous, Failure::none, "the bound is at least half the range of the values"};
  }
  return {};
}

Verdict judge_element(const Element& element, const Contract& contract) {
  return judge_element(element.format, element.bits, element.truth, element.bound, element.range,
                       element.domain.holds(), contract);
}

Judgement judge(const Output& output, const Truth& truth, const Bound& bound, const Contract& contract,
                std::uint64_t case_index) {
  require_fit(output, truth, bound);
  Judgement judgement;
  bool first = true;
  Part worst_part = Part::o;
  std::int64_t worst_index = 0;
  for (const Part part : {Part::o, Part::lse}) {
    ErrorStats& stats = part == Part::o ? judgement.o : judgement.lse;
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element element = element_at(output, truth, bound, part, i);
      const Verdict verdict = judge_element(element, contract);
      stats.add(element, verdict, case_index, static_cast<std::uint64_t>(i));
      if (first || outweighs(verdict, judgement.worst)) {
        judgement.worst = verdict;
        worst_part = part;
        worst_index = i;
        first = false;
      }
    }
  }
  if (judgement.worst.kind != VerdictKind::pass) {
    judgement.worst.detail += ": " + describe(element_at(output, truth, bound, worst_part, worst_index));
  }
  return judgement;
}

}  // namespace flashproof
