#include "reports/faults/fault_cases.h"

#include "properties/generators/gradient_variant.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kSeeds = 6;

std::vector<CaseSpec> gradient_specs() {
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

std::deque<TeethCase> gradient_cases() {
  std::deque<TeethCase> made;
  for (const CaseSpec& spec : gradient_specs()) {
    try {
      made.emplace_back(make_case(spec));
    } catch (const UsageError&) {  // a feature without a gradient
      continue;
    }
    made.back().truth.forward(), made.back().truth.gaps();
  }
  return made;
}

}  // namespace

std::deque<TeethCase>& fault_cases(ProblemKind problem) {
  if (problem != ProblemKind::backward) return teeth_cases(problem);
  static std::deque<TeethCase> cases = gradient_cases();
  return cases;
}

}  // namespace flashproof
