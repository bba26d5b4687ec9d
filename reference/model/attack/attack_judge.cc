#include "reference/model/attack/attack_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "reference/error/element.h"
#include "reference/model/model.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"

namespace flashproof::attack {

namespace {

/// The last rounding is into f32 where the format is (`rounds`); else the bound has it already, and none is granted.
struct Judged {
  bool counted = false, violated = false;
  double ratio = 0;
};

Judged judge_one(double computed, const Ball& truth, const ElementBound& bound, double range, bool in_domain,
                 bool rounds) {
  const double total = bound.total();
  if (truth.classes != kFinite || !(total < HUGE_VAL) || !in_domain) return {};  // no bound is promised
  // Outwards by more than the evaluation of this line.
  const double reach = (total + truth.radius) * (1 + 0x1p-40) + 0x1p-50 * std::fabs(truth.hi);
  double low = truth.hi + truth.lo - reach;
  double high = truth.hi + truth.lo + reach;
  if (rounds || std::isinf(computed)) {  // o beyond the f32 range is infinite before it is stored in a narrower format
    low = round_to(Format::f32, low);
    high = round_to(Format::f32, high);
  }
  Judged judged{.counted = !(total >= range / 2), .violated = !(computed >= low && computed <= high)};
  const double error = std::fabs(signed_error(computed, truth));
  const double half_ulp = std::max(0x1p-24 * std::fabs(truth.hi), 0x1p-150);
  judged.ratio = error == 0 ? 0 : error / (reach + (rounds ? half_ulp : 0));
  return judged;
}

int dominating(const ElementBound& b) {
  const double parts[] = {b.weights, b.numerator, b.denominator, b.output};
  return static_cast<int>(std::ranges::max_element(parts) - parts);
}

}  // namespace

void Worst::take(const Worst& other) {
  ratio = std::max(ratio, other.ratio);
  lse = std::max(lse, other.lse);
  for (int part = 0; part < 4; ++part) by_part[part] = std::max(by_part[part], other.by_part[part]);
}

std::string Worst::text() const {
  return fmt::format("o {:.2f} (weights {:.2f}, numerator {:.2f}, denominator {:.2f}, output {:.2f}), lse {:.2f}",
                     ratio, by_part[0], by_part[1], by_part[2], by_part[3], lse);
}

void Violations::take(const Violations& other) {
  worst.take(other.worst);
  elements += other.elements;
  broken_forms += other.broken_forms;
  refused += other.refused;
  violations += other.violations;
  if (first.empty()) first = other.first;
  if (refusal.empty()) refusal = other.refusal;
}

Violations judge(const Problem& problem, const Output& output, const Truth& truth, const Bound& bound) {
  Violations tally;
  const bool rounds = output_format(problem) == Format::f32;
  for (const Part part : {Part::o, Part::lse}) {
    for (std::int64_t i = 0; i < count(truth, part); ++i) {
      const Element e = element_at(output, truth, bound, part, i);
      if (!e.domain.form.holds()) {
        ++tally.broken_forms;
        continue;
      }
      const Judged judged =
          judge_one(e.computed, e.truth, e.bound, e.range, e.domain.holds(), rounds || part == Part::lse);
      tally.elements += judged.counted ? 1 : 0;
      if (judged.violated) {
        ++tally.violations;
        if (tally.first.empty()) tally.first = describe(e);
      }
      if (!judged.counted) continue;
      if (part == Part::lse) {
        tally.worst.lse = std::max(tally.worst.lse, judged.ratio);
      } else {
        tally.worst.ratio = std::max(tally.worst.ratio, judged.ratio);
        double& by_part = tally.worst.by_part[dominating(e.bound)];
        by_part = std::max(by_part, judged.ratio);
      }
    }
  }
  return tally;
}

Violations attack(const Problem& problem, const Arithmetic& executed, const Arithmetic& declared, std::uint64_t seed,
                  int runs) {
  Violations tally;
  Bound bound;
  try {
    bound = compute_bound(problem, declared);
  } catch (const std::invalid_argument& refusal) {
    tally.refused = 1;
    tally.refusal = refusal.what();
    return tally;
  } catch (const UsageError& refusal) {
    tally.refused = 1;
    tally.refusal = refusal.what();
    return tally;
  } catch (const std::logic_error& wrong) {
    tally.violations = 1;
    tally.first = wrong.what();
    return tally;
  }
  const Truth truth = narrow_truth(problem, Format::f32);
  constexpr Lean kLeans[] = {Lean::aligned, Lean::opposed, Lean::extreme, Lean::up,
                             Lean::down,    Lean::random,  Lean::nearest};
  for (int run = 0; run < runs; ++run) {
    const Roundings roundings{.lean = kLeans[run % 7], .seed = seed, .column = run / 7};
    tally.take(judge(problem, run_model_unrounded(problem, executed, roundings), truth, bound));
  }
  return tally;
}

}  // namespace flashproof::attack
