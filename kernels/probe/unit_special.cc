// What a matrix unit does at the edges of its formats.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "kernels/probe/unit_questions.h"
#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof::probe {
namespace {

std::string pattern(const Unit& unit, std::uint64_t bits) {
  return unit.inputs == Format::f64 ? fmt::format("0x{:016x}", bits) : fmt::format("0x{:08x}", bits);
}

/// The products of one step in another order: the same bits?
void ask_order(Asker& asker, UnitProfile& profile, std::uint64_t seed) {
  constexpr int kSums = 64, kOrders = 16;
  Random random(seed, 1);
  std::vector<Step> steps;
  for (int sum = 0; sum < kSums; ++sum) {
    std::vector<Term> products(static_cast<std::size_t>(asker.unit().products));
    for (Term& t : products) {
      t = {(1 + random.uniform()) * (random.chance(0.5) ? 1 : -1),
           static_cast<int>(random.integer(asker.least(), asker.most()))};
    }
    const double c = std::ldexp(1, static_cast<int>(random.integer(asker.least(), asker.most())));
    for (int order = 0; order < kOrders; ++order) {
      steps.push_back(asker.step(c, products));
      for (std::size_t i = products.size() - 1; i > 0; --i) {
        std::swap(products[i], products[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
      }
    }
  }
  const auto results = asker.results(steps);
  int differing = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    differing += results[i].d != results[i / kOrders * kOrders].d ? 1 : 0;
  profile.answers.push_back({"the order of the products does not matter", differing == 0,
                             fmt::format("{} of {} permuted steps differ", differing, kSums * (kOrders - 1))});
}

void add_answer(UnitProfile& profile, const char* question, bool yes, std::string figure) {
  profile.answers.push_back({question, yes, std::move(figure)});
}

std::uint64_t bits_of(Asker& asker, const Step& step) { return asker.results({step}).at(0).d; }

/// Numbers below the normal ones and sums beyond the largest. `wide`: the inputs have the exponents of f32.
void ask_range(Asker& asker, UnitProfile& profile, bool f64, bool wide) {
  const Unit& unit = asker.unit();
  // tf32 has 10 fraction bits, so its smallest number is 2^-136, not f32's.
  const double tiny = unit.inputs == Format::f32 ? 0x1p-136 : min_subnormal(unit.inputs);
  const double factor = wide ? 0x1p100 : f64 ? 0x1p1000 : 1;
  Step subnormal = asker.step(0, {});
  asker.set(subnormal, 0, tiny, factor);
  add_answer(profile, "subnormal inputs are kept", asker.value(subnormal) == tiny * factor,
             fmt::format("2^{} times {} -> {}", std::ilogb(tiny), factor, asker.value(subnormal)));

  const double least = f64 ? min_subnormal(Format::f64) : 0x1p-130;  // within 13 fraction bits of 2^-126, too
  add_answer(profile, "a subnormal c is kept", asker.value(asker.step(least, {})) == least,
             fmt::format("2^{} + 0 -> {}", std::ilogb(least), asker.value(asker.step(least, {}))));
  if (wide || f64) {
    const int half = f64 ? -520 : -70;
    Step product = asker.step(0, {});
    asker.set(product, 0, std::ldexp(1, half), std::ldexp(1, half));
    add_answer(profile, "subnormal results are kept", asker.value(product) == std::ldexp(1, 2 * half),
               fmt::format("2^{} times itself -> {}", half, asker.value(product)));
  }
  if (wide) {
    Step back = asker.step(0, {});
    asker.set(back, 0, 0x1p64, 0x1p64);
    add_answer(profile, "overflow gives infinity", asker.value(back) == kInfinity,
               fmt::format("2^128 -> {}", asker.value(back)));
    asker.set(back, 1, -0x1p64, 0x1p63);
    add_answer(profile, "only the sum overflows", asker.value(back) == 0x1p127,
               fmt::format("2^128 - 2^127 -> {}", asker.value(back)));
  }
}

/// Infinities, and which bits a NaN has, whatever it comes from.
void ask_nans(Asker& asker, UnitProfile& profile, bool f64) {
  const Unit& unit = asker.unit();
  Step nan = asker.step(1, {});
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  asker.set(nan, 0, quiet, 1);
  const std::uint64_t from_input = bits_of(asker, nan);
  std::string figure = "NaN -> " + pattern(unit, from_input);
  const std::uint64_t canonical = f64 ? 0x7fffffffffffffffULL : 0x7fffffffU;
  bool every = from_input == canonical || (f64 && from_input == 0x7ff8000000000000ULL);
  if (info(unit.inputs).has_infinity) {
    Step difference = asker.step(0, {});
    asker.set(difference, 0, kInfinity, 1);
    asker.set(difference, 1, -kInfinity, 1);
    Step zero = asker.step(0, {});
    asker.set(zero, 0, kInfinity, 0);
    const std::uint64_t of_difference = bits_of(asker, difference), of_zero = bits_of(asker, zero);
    figure += fmt::format(", inf - inf -> {}, inf * 0 -> {}", pattern(unit, of_difference), pattern(unit, of_zero));
    every = every && of_difference == from_input && of_zero == from_input;
    Step infinite = asker.step(1, {});
    asker.set(infinite, 0, -kInfinity, 1);
    add_answer(profile, "infinities add up", asker.value(infinite) == -kInfinity,
               fmt::format("1 - inf -> {}", asker.value(infinite)));
  }
  add_answer(profile, "one NaN pattern", every, figure);
}

}  // namespace

void ask_special(Asker& asker, UnitProfile& profile, std::uint64_t seed) {
  const Unit& unit = asker.unit();
  const bool f64 = unit.inputs == Format::f64;
  const bool wide = unit.inputs == Format::bf16 || unit.inputs == Format::f32;
  ask_order(asker, profile, seed);
  ask_range(asker, profile, f64, wide);
  ask_nans(asker, profile, f64);
  const std::uint64_t zero = bits_of(asker, asker.step(-0.0, {}));
  add_answer(profile, "-0 + 0 is +0", zero == 0, pattern(unit, zero));
}

}  // namespace flashproof::probe
