#include "reference/oracle/escalation.h"

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

/// exact at kFirstBits, twice that, ...: n = 0 is the first.
std::optional<Step> exact_step(int n) {
  int bits = kFirstBits;
  for (; n > 0 && bits <= kMaxBits; --n) bits *= 2;
  if (bits > kMaxBits) return std::nullopt;
  return Step{Tier::exact, bits};
}

/// A weight has a radius while the error of its score is below 1/4 nat. The score's error is at least 8 u² A in
/// double-double, (d² + 8) u² A in general, and about 32 u A in fp64: from d = 16 on no smaller than 2^-50 of that, so
/// beyond this line no weight would get a radius. (Below d = 16 the exact tier costs little.)
bool scores_are_lost(const RowCause& cause) { return !(cause.score_error * 0x1p-50 < 0.25); }

}  // namespace

Path Path::of(const Problem& problem) {
  return {has_fp64_tier(), has_double_double_tier(problem), kind_of(problem) == ProblemKind::attention};
}

std::optional<Step> Path::step(const RowCause& cause, int level) const {
  if (!fp64) return exact_step(level);  // the first tier was exact_step(0)
  int n = level - 1;
  if (!double_double || scores_are_lost(cause)) return exact_step(n);
  if (attention && cause.scores_dominate && n-- == 0) return Step{Tier::dd_scores, 0};
  if (n-- == 0) return Step{Tier::dd, 0};
  return exact_step(n);
}

}  // namespace flashproof
