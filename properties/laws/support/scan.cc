#include "properties/laws/support/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashproof {
namespace {

constexpr Part kParts[kPartCount] = {Part::o, Part::lse, Part::dq, Part::dk, Part::dv};

double ratio_of(const Element& element) {
  if ((element.truth.classes & kFinite) == 0 || class_of(element.computed) != kFinite) {
    return std::numeric_limits<double>::infinity();
  }
  return std::fabs(signed_error(element.computed, element.truth)) /
         bound_with_rounding(element.format, element.truth, element.bound);
}

}  // namespace

std::uint64_t element_count(const Judgement& judgement) {
  std::uint64_t n = 0;
  for (const Part part : kParts) n += judgement[part].elements;
  return n;
}

std::array<std::uint64_t, kVerdictKinds> verdict_counts(const Judgement& judgement) {
  std::array<std::uint64_t, kVerdictKinds> counts{};
  for (const Part part : kParts) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += judgement[part].verdicts[i];
  }
  return counts;
}

std::uint64_t failure_count(const Judgement& judgement, std::span<const Failure> failures) {
  std::uint64_t n = 0;
  for (const Part part : kParts) {
    for (const Failure failure : failures) n += judgement[part].failures[static_cast<std::size_t>(failure)];
  }
  return n;
}

Verdict failing_element(const Evaluation& e, std::span<const Failure> failures) {
  Verdict worst;
  double worst_ratio = -1;
  Part part{};
  std::int64_t index = -1;
  for (const Part p : parts_of(e.output)) {
    for (std::int64_t i = 0; i < count(e.truth, p); ++i) {
      const Element element = e.element(p, i);
      Verdict verdict = decide(element, e.kernel.contract).verdict();
      if (!verdict.failed() || std::ranges::find(failures, verdict.failure) == failures.end()) continue;
      const double ratio = ratio_of(element);
      if (outweighs(verdict, worst) || (verdict.failure == worst.failure && ratio > worst_ratio)) {
        worst = std::move(verdict);
        worst_ratio = ratio;
        part = p;
        index = i;
      }
    }
  }
  if (index < 0) return {VerdictKind::fail, Failure::error, "the judgement's counts belong to another output"};
  const std::uint64_t others = failure_count(e.judgement, failures) - 1;
  worst.detail = fmt::format("{}: {}{}", worst.detail, describe(e.element(part, index)),
                             others == 0 ? "" : fmt::format("; {} more", others));
  return worst;
}

std::string detail_of_first(const Evaluation& e, VerdictKind kind) {
  for (const Part p : parts_of(e.output)) {
    for (std::int64_t i = 0; i < count(e.truth, p); ++i) {
      const Element element = e.element(p, i);
      const Decision decision = decide(element, e.kernel.contract);
      if (decision.kind == kind) return fmt::format("{}: {}", decision.why, describe(element));
    }
  }
  return {};
}

}  // namespace flashproof
