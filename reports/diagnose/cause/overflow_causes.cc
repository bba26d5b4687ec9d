#include "reports/diagnose/cause/overflow_causes.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "reference/error/judge.h"
#include "reports/diagnose/row_look.h"
#include "reports/diagnose/terms.h"

namespace flashproof {
namespace {

/// e^x is infinite in f32 from the first on, and 0 below the second, half the least subnormal number. Above the third a row of
/// weights keeps its digits: the least normal number is e^-87.3, and what is 2^-24 of the largest weight may lose all of its own.
/// A weight that is stored in f16 is infinite from ln 65520 on.
constexpr Real kInfiniteInF16 = 11.090111L, kInfiniteFrom = 88.722839L, kZeroBelow = -103.972077L,
               kExactFrom = -87.336545L + 24 * 0.693148L;

enum class Place : std::uint8_t { inside, above, below, unknown };

/// What a kernel subtracts from the scores in place of their maximum.
enum class Subtracted : std::uint8_t {
  nothing,
  least,  // the maximum of q.k, times a scale that is negative
};

struct Row {
  Place may = Place::unknown;                       // where the largest exponent may lie for a failure to be explained
  Place must = Place::unknown;                      // where such a row cannot be right
  bool infinite = false;                            // its exponential is infinite by itself
  bool fails = false, passes = false, lost = true;  // lost: no failing element is an ordinary number
  bool fails_in_o = false;
};

/// Of several tiles the largest of what is least in each is subtracted, and a kernel may keep f32: a row of any spread may be right.
Row placed_by_spread(const Problem& problem, const RowLook& look, Row r) {
  const auto* p = std::get_if<AttentionProblem>(&problem);
  const bool negative = p != nullptr && p->scale < 0;
  const Real spread = negative ? look.most - look.least : 0, rows_sum = std::log(static_cast<Real>(look.visible));
  if (!std::isfinite(spread)) return r;
  r.infinite = spread > (negative && p->v.format == Format::f16 ? kInfiniteInF16 : kInfiniteFrom);
  if (r.infinite || (negative && spread > kInfiniteFrom - rows_sum)) {
    r.may = Place::above;
  } else {
    r.must = r.may = Place::inside;
  }
  return r;
}

Row look_at_row(const Observation& seen, std::int64_t row, Subtracted subtracted) {
  Row r;
  const auto take = [&](Part part, std::int64_t index) {
    const VerdictKind kind = seen.kind(part, index);
    r.passes = r.passes || kind == VerdictKind::pass;
    if (kind != VerdictKind::fail) return;
    r.fails = true;
    r.fails_in_o = r.fails_in_o || part == Part::o;
    r.lost = r.lost && seen.symptom(part, index) != Symptom::number;
  };
  take(Part::lse, row);
  for (std::int64_t c = 0; c < seen.width(Part::o); ++c) take(Part::o, row * seen.width(Part::o) + c);
  const RowLook look = look_at(row_terms(seen.subject().problem, seen.kernel().arithmetic, row));
  if (look.nan_score || look.visible == 0) return r;
  if (subtracted == Subtracted::least) return placed_by_spread(seen.subject().problem, look, r);
  const Real most = look.most, rows_sum = std::log(static_cast<Real>(look.visible));
  r.infinite = std::isfinite(most) && most > kInfiniteFrom;
  r.must = most > kInfiniteFrom ? Place::above : most < kZeroBelow ? Place::below : Place::inside;
  r.may = most > kInfiniteFrom - rows_sum ? Place::above : most < kExactFrom ? Place::below : Place::inside;
  if (std::isinf(most)) r.must = Place::unknown;
  return r;
}

struct Evidence {
  Subtracted subtracted;
  std::uint64_t above = 0, below = 0, inside = 0;  // rows: failing ones near or beyond either end, passing ones between
  std::uint64_t infinite = 0;                      // of those above the ones whose e^score is infinite by itself
  bool contradicted = false;

  /// Whether every failing row of the case is explained.
  bool add(const Observation& seen) {
    bool explains = true;
    for (std::int64_t row = 0; row < seen.rows(Part::o); ++row) {
      const Row r = look_at_row(seen, row, subtracted);
      if (r.fails) {
        // Where o is right the maximum was subtracted from its exponents, whatever became of lse.
        const bool shown = r.fails_in_o || !returned(seen.kernel().contract, Part::o);
        const bool explained = r.may == Place::below || (r.may == Place::above && r.lost && shown);
        explains = explains && explained;
        contradicted = contradicted || (r.may == Place::inside && r.lost);
        above += explained && r.may == Place::above ? 1 : 0;
        infinite += explained && r.infinite ? 1 : 0;
        below += explained && r.may == Place::below ? 1 : 0;
      } else if (r.passes) {
        inside += r.must == Place::inside ? 1 : 0;
        contradicted = contradicted || r.must == Place::above || r.must == Place::below;
      }
    }
    return explains;
  }
};

std::string condition(const Evidence& evidence) {
  if (evidence.subtracted == Subtracted::least) {
    return fmt::format(
        "{} rows of a negative scale fail, whose scores spread so far that e^spread is infinite in a format of the "
        "kernel; {} rows of a smaller spread or a positive scale do not",
        evidence.above, evidence.inside);
  }
  const std::string small =
      evidence.below > 0 ? fmt::format(" and {} below -70.7, where e^score is 0 or loses digits,", evidence.below) : "";
  return fmt::format("{} rows whose largest score is near or above 88.7{} fail, none above it passes, {} below it do",
                     evidence.above, small, evidence.inside);
}

/// Closes the cases that it explains; without an id if it explains none, or too little speaks for it.
Cause cause_of(Subtracted subtracted, const Looked& looked, std::vector<bool>& open) {
  // Two rows beyond, by themselves (a kernel that declares to subtract nothing may refuse them, and fail where the sum overflows), and
  // as many between: an error elsewhere would have to keep to one side of a number that is known beforehand.
  constexpr std::uint64_t kEnough = 2;
  Cause cause;
  Evidence evidence{subtracted};
  std::vector<bool> explained(open.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Observation& seen = looked.failing[i];
    if (!open[i] || !seen.error().empty() || !evidence.add(seen)) continue;
    explained[i] = true;
    ++cause.cases;
    cause.elements += seen.failing();
    if (cause.witness.empty()) cause.witness = to_string(seen.subject().spec);
  }
  for (const Observation& seen : looked.passing)
    if (seen.error().empty()) evidence.add(seen);
  if (cause.cases == 0 || evidence.contradicted || evidence.infinite < kEnough || evidence.inside < kEnough) return {};
  for (std::size_t i = 0; i < open.size(); ++i) open[i] = open[i] && !explained[i];
  const bool least = subtracted == Subtracted::least;
  cause.id = least ? "exponent.least_subtracted" : "exponent.no_maximum";
  cause.sentence =
      least ? "it takes the maximum before the scale: of a negative scale that is the least score, and exponentials "
              "overflow"
            : "it computes as if no maximum were subtracted before the exponentials: e^score overflows in f32";
  cause.condition = condition(evidence);
  cause.confident = true;
  return cause;
}

}  // namespace

std::vector<Cause> by_overflow(const Kernel& kernel, const Looked& looked, std::vector<bool>& open) {
  std::vector<Cause> causes;
  if (kernel.problem == ProblemKind::backward) return causes;
  for (const Subtracted subtracted : {Subtracted::nothing, Subtracted::least}) {
    if (Cause cause = cause_of(subtracted, looked, open); !cause.id.empty()) causes.push_back(std::move(cause));
  }
  return causes;
}

}  // namespace flashproof
