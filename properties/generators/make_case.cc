#include "properties/generators/backward_case.h"
#include "properties/generators/family.h"
#include "properties/generators/features.h"
#include "properties/generators/keys.h"
#include "properties/generators/make_of.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/text.h"

namespace flashproof {

bool Family::serves(ProblemKind problem) const {
  for (const ProblemKind served : problems) {
    if (served == forward_kind(problem)) return true;
  }
  return false;
}

std::uint64_t Family::cases(ProblemKind problem, std::uint64_t seeds) const {
  if (round == nullptr) return seeds;
  return (seeds * round(problem) + kDefaultSeeds - 1) / kDefaultSeeds;
}

const Family* find_family(std::string_view name) {
  for (const Family& family : families()) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

bool is_costly(const CaseSpec& spec) {
  if (spec.seed < kCostlySeeds) return false;
  const Family* family = find_family(spec.family);
  return family != nullptr && family->costly != nullptr && family->serves(spec.problem) &&
         spec.seed - kCostlySeeds < family->costly(spec.problem);
}

Case make_of(const Family& family, const CaseSpec& spec) {
  check_keys(spec);
  Case made = family.make(spec);
  auto* attention = std::get_if<AttentionProblem>(&made.problem);
  if (attention != nullptr && attention->has_bias() && text_key(spec, "bias")) {
    attention->bias = {};
    Random random = value_stream(spec);
    family::put_spread(*attention, random, 2);
  }
  validate(made.problem);
  return made;
}

Case make_case(const CaseSpec& spec) {
  if (spec.problem == ProblemKind::backward) return make_gradient_case(spec);
  const Family* family = find_family(spec.family);
  if (family == nullptr) {
    std::vector<std::string_view> names;
    for (const Family& known : families()) names.push_back(known.name);
    const std::string hint = did_you_mean(spec.family, names);
    throw UsageError("family " + quote(spec.family) + " does not exist" +
                     (hint.empty() ? "; legal: " + join(names, ", ") : hint));
  }
  if (!family->serves(spec.problem)) {
    std::vector<std::string_view> problems;
    for (const ProblemKind problem : family->problems) problems.push_back(name(problem));
    throw UsageError("family " + spec.family + " does not serve " + std::string(name(spec.problem)) + "; it serves " +
                     join(problems, " and "));
  }
  return make_of(*family, spec);
}

}  // namespace flashproof
