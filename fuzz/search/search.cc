#include "fuzz/search/search.h"

#include <limits>
#include <utility>

#include "fuzz/search/starts.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kStream = 0x73656172;
constexpr std::uint64_t kStarts = 120;  // before the first climb: every family several times
constexpr double kFreshStart = 0.15;    // chance of another one afterwards

/// Wrong classes are no matter of how near an error comes to its bound: the laws ask for them.
bool leaves_bound(const Score& score) {
  const Failure failure = score.verdict.failure;
  return score.failed() &&
         (failure == Failure::exceeds_bound || failure == Failure::silently_wrong || failure == Failure::error);
}

}  // namespace

Search::Search(const Kernel& kernel, Format format, std::uint64_t seed)
    : kernel_(kernel), format_(format), random_(seed, kStream), climb_(kernel.problem, 1) {}

void Search::step() {
  ++evaluations_;  // refused recipes too, or a family that always refuses would cost nothing and never end
  const bool begun = evaluations_ > kStarts;
  if (!begun || random_.chance(kFreshStart)) return start();
  if (auto child = climb_.child(random_)) return offer(std::move(*child));
  start();
}

void Search::start() {
  const CaseSpec spec = drawn_at_ledger_shape(kernel_.problem, format_, random_);
  if (auto made = full_case(spec)) offer({{.origin = {spec, {}}}, std::move(made->problem)});
}

void Search::offer(ClimbCandidate candidate) {
  const Origin& origin = candidate.input.origin;
  if (!candidate.problem) candidate.problem = origin.make();
  Case subject{origin.spec, std::move(*candidate.problem)};
  // A violation is told as a finding: judged as far as the oracle goes, as a report's judge is.
  const Score found = score(kernel_, subject, {.bests = true, .highest_level = std::numeric_limits<int>::max()});
  candidate.problem = std::move(subject.problem);
  if (leaves_bound(found) && violation_.empty()) {
    violation_ = found.verdict.detail;
    violation_origin_ = origin;
  }
  climb_.offer(candidate, found.terms);
}

}  // namespace flashproof
