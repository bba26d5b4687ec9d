#include "properties/driver/gradient_draws.h"

#include <optional>
#include <string>

#include "properties/driver/property_run.h"
#include "properties/generators/gradient_case.h"
#include "properties/generators/gradient_variant.h"
#include "reference/problem/error.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

CaseSpec drawn_spec(const Kernel& kernel, std::string_view family, Random& random) {
  const std::uint64_t seed = random.next_u32();  // ten digits at most: a line to read
  const auto n = static_cast<std::size_t>(random.integer(0, std::ssize(kernel.formats) - 1));
  return {ProblemKind::backward, std::string(family), seed, {{"format", std::string(info(kernel.formats[n]).name)}}};
}

/// None where this seed has a feature without a gradient.
std::optional<Case> made(const CaseSpec& spec) {
  try {
    return make_gradient_case(spec);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

}  // namespace

void draw_family(const Kernel& kernel, const Family& family, std::uint64_t seed, std::uint64_t cases,
                 const UseGradientCase& use) {
  constexpr int kDraws = 50;
  Random random(seed, seed_of(family.name));
  for (std::uint64_t n = 0; n < cases; ++n) {
    std::optional<Case> drawn;
    for (int draw = 0; !drawn && draw < kDraws; ++draw) drawn = made(drawn_spec(kernel, family.name, random));
    if (!drawn || !use(*drawn)) return;
  }
}

void draw_variants(const Kernel& kernel, std::uint64_t seed, const UseGradientCase& use) {
  Random random(seed, seed_of("variant"));
  for (int n = 1; n <= gradient_variants(); ++n) {
    CaseSpec spec = drawn_spec(kernel, "normal", random);
    spec.keys["variant"] = std::to_string(n);
    const std::optional<Case> drawn = made(spec);
    if (drawn && !use(*drawn)) return;
  }
}

}  // namespace flashproof
