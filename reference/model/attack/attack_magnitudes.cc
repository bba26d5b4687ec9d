#include "reference/model/attack/attack_magnitudes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/model/attack/attack_draws.h"

namespace flashproof::attack {

namespace {

/// Exponents of the format's numbers, subnormal ones included.
int lowest(Format format) { return std::ilogb(min_subnormal(format)); }
int highest(Format format) { return std::ilogb(info(format).max_finite); }

int clamp_to(Format format, int e) { return std::clamp(e, lowest(format), highest(format)); }

}  // namespace

int exponent(Random& random, Format format) {
  const int low = lowest(format), high = highest(format), normal = info(format).min_exponent;
  switch (random.integer(0, 4)) {
    case 0:
      return any_of(random, {low, normal - 1, normal, normal + 1, high - 1, high});
    case 1:
      return any_of(random, {normal / 2, high / 2}) + static_cast<int>(random.integer(-1, 1));
    case 2:
      return static_cast<int>(random.integer(-3, 3));
    default:
      return static_cast<int>(random.integer(low, high));
  }
}

double significand(Random& random) {
  return random.chance(0.5) ? any_of(random, {1.0, 1.5, 2 - 0x1p-7, 1 + 0x1p-7, 2 - 0x1p-23, 1 + 0x1p-23})
                            : random.uniform(1, 2);
}
double sign(Random& random) { return random.chance(0.5) ? 1 : -1; }

float number(double value) {
  return static_cast<float>(decode(Format::f32, encode(Format::f32, value, Overflow::saturate)));
}

int target(Random& random) {
  return static_cast<int>(random.chance(0.7) ? random.integer(-8, 7) : random.integer(-149, 127));
}

ScoreExponents score_exponents(Random& random, Format q, Format k, bool descaled) {
  ScoreExponents e{exponent(random, q), exponent(random, k), exponent(random, Format::f32)};
  if (descaled) {
    e.q_descale = exponent(random, Format::f32);
    e.k_descale = exponent(random, Format::f32);
  }
  if (random.chance(0.1)) return e;
  // One of them, and then the others in turn, makes up for the rest.
  struct Factor {
    int* value;
    Format format;
  };
  std::vector<Factor> factors{{&e.scale, Format::f32}, {&e.q, q}, {&e.k, k}};
  if (descaled) factors.insert(factors.end(), {{&e.q_descale, Format::f32}, {&e.k_descale, Format::f32}});
  std::rotate(factors.begin(), factors.begin() + random.integer(0, static_cast<std::int64_t>(factors.size()) - 1),
              factors.end());
  const int wanted = target(random);
  for (const Factor& factor : factors) {
    const int sum = e.q + e.k + e.scale + e.q_descale + e.k_descale;
    *factor.value = clamp_to(factor.format, *factor.value + wanted - sum);
  }
  return e;
}

BlockFma any_unit(Random& random) {
  if (random.chance(0.6)) {
    return any_of(random,
                  {kVoltaF16, kAmpereF16, kAmpereTf32, kHopperF16, kHopperTf32, kBlackwellFp8, kHopperWgmmaFp8});
  }
  return {.k = static_cast<int>(random.integer(1, 64)),
          .f = static_cast<int>(random.integer(7, 46)),
          .ofb = static_cast<int>(random.integer(7, 23))};
}

}  // namespace flashproof::attack
