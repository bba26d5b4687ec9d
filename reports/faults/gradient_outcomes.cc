#include "reports/faults/gradient_outcomes.h"

#include <deque>

#include "kernels/broken/fault.h"
#include "kernels/simt/schedule.h"
#include "properties/generators/family.h"
#include "properties/generators/gradient_variant.h"
#include "properties/laws/law.h"
#include "reference/problem/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kSeeds = 6;

struct GradientSubject {
  Case content;
  CaseTruth truth;

  explicit GradientSubject(Case made) : content(std::move(made)), truth(content) {
    truth.forward(), truth.gaps();  // now: the processes that are forked later share what it takes
  }
  GradientSubject(const GradientSubject&) = delete;
  GradientSubject& operator=(const GradientSubject&) = delete;
};

/// Every variant (gradient_variant.h) of an ordinary problem; every family that serves attention and has a gradient; in formats
/// in turn.
std::vector<CaseSpec> specs() {
  std::vector<CaseSpec> list;
  const auto add = [&](std::string_view family, std::uint64_t seed) -> CaseSpec& {
    const Format format = kStorageFormats[seed % std::size(kStorageFormats)];
    return list.emplace_back(
        CaseSpec{ProblemKind::backward, std::string(family), seed, {{"format", std::string(info(format).name)}}});
  };
  for (int variant = 1; variant <= gradient_variants(); ++variant) {
    add("normal", static_cast<std::uint64_t>(variant)).keys["variant"] = std::to_string(variant);
  }
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Family& family : families()) {
      if (family.serves(ProblemKind::backward)) add(family.name, seed);
    }
  }
  return list;
}

std::deque<GradientSubject>& subjects() {
  static std::deque<GradientSubject> list = [] {
    std::deque<GradientSubject> made;
    for (const CaseSpec& spec : specs()) {
      try {
        made.emplace_back(make_case(spec));
      } catch (const UsageError&) {  // a feature without a gradient
      }
    }
    return made;
  }();
  return list;
}

Verdict asked(const Law& law, const Kernel& kernel, GradientSubject& s, double dose = 0) {
  Trial trial(kernel, s.content, &s.truth, {.dose = dose});
  return ask(law, trial);
}

}  // namespace

void prepare_gradients() { subjects(); }

std::vector<LawOutcome> gradient_outcomes(const Kernel& kernel, double dose, std::span<const Law* const> laws) {
  const Kernel& right = *find_kernel(kernel.fault->kernel);
  std::vector<LawOutcome> outcomes;
  for (const Law* each : laws) {
    const Law& law = *each;
    LawOutcome outcome{.law = std::string(law.name)};
    for (GradientSubject& s : subjects()) {
      const Verdict verdict = asked(law, kernel, s, dose);
      outcome.executed += verdict.kind == VerdictKind::pass || verdict.failed() ? 1 : 0;
      if (!verdict.failed() || asked(law, right, s).failed()) continue;
      outcome.rejects = true;
      outcome.where = to_string(s.content.spec);
      outcome.why = one_line(verdict.detail);
      break;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace flashproof
