#include "kernels/probe/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/probe/unit_questions.h"
#include "reference/model/block_fma.h"
#include "reference/problem/random.h"

namespace flashproof::probe {
namespace {

bool is_f64(const Unit& unit) { return unit.inputs == Format::f64; }

double value_of(const Unit& unit, std::uint64_t bits) {
  return is_f64(unit) ? std::bit_cast<double>(bits)
                      : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

/// tf32 as its bits, cut: a conversion would change what NaN it is.
float factor_of(const Unit& unit, std::uint64_t bits) {
  if (unit.inputs == Format::f32) return cut_to_tf32(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return static_cast<float>(decode(unit.inputs, bits));
}

/// What the model gives. Groups of fewer products than the instruction has are chained, in order.
std::uint64_t model(const Asker& asker, const UnitProfile& profile, const Step& step) {
  const BlockFma& block = profile.block;
  const Unit& unit = asker.unit();
  if (block.k == 0) {
    auto c = value_of(unit, step.c);
    for (int k = 0; k < unit.products; ++k) {
      c = std::fma(decode(unit.inputs, step.a[k]), decode(unit.inputs, step.b[k]), c);
      if (!is_f64(unit)) c = static_cast<double>(static_cast<float>(c));
    }
    return is_f64(unit) ? std::bit_cast<std::uint64_t>(c) : std::bit_cast<std::uint32_t>(static_cast<float>(c));
  }
  float a[kMostProducts], b[kMostProducts];
  for (int k = 0; k < unit.products; ++k) {
    const auto place = static_cast<std::size_t>(asker.places[static_cast<std::size_t>(k)]);
    a[k] = factor_of(unit, step.a[place]);
    b[k] = factor_of(unit, step.b[place]);
  }
  const auto addend = std::bit_cast<float>(static_cast<std::uint32_t>(step.c));
  float c = profile.c_last ? 0.0F : addend;
  for (int k = 0; k < unit.products; k += block.k) {
    c = block_fma(block, {asker.exponents, asker.exponents}, c, a + k, b + k, std::min(block.k, unit.products - k));
  }
  if (profile.c_last) c = addend + c;
  return std::isnan(c) ? 0x7fffffffU : std::bit_cast<std::uint32_t>(c);
}

bool is_nan(const Unit& unit, std::uint64_t bits) { return std::isnan(value_of(unit, bits)); }

/// Four kinds: any pattern at all; exponents over the whole range; a narrow band; products that cancel in pairs.
Step random_step(const Unit& unit, Random& random, const Asker& asker) {
  Step step;
  const auto kind = random.integer(0, 3);
  const int width = is_f64(unit) ? 64 : 32;
  const int bits = info(unit.inputs).bits;
  const auto pattern = [&](int n) { return random.next_u64() >> (64 - n); };
  if (kind == 0) {
    for (int k = 0; k < unit.products; ++k) step.a[k] = pattern(bits), step.b[k] = pattern(bits);
    step.c = pattern(width);
    return step;
  }
  const int range = kind == 1 ? asker.most() / 2 : static_cast<int>(random.integer(0, 4));
  const auto draw = [&] {
    const double x = std::ldexp(1 + random.uniform(), static_cast<int>(random.integer(-range, range)));
    return random.chance(0.5) ? x : -x;
  };
  for (int k = 0; k < unit.products; ++k) asker.set(step, k, draw(), draw());
  if (kind == 3) {
    for (int k = 0; k + 1 < unit.products; k += 2) {
      step.a[k + 1] = step.a[k] ^ sign_bit(unit.inputs);
      if (random.chance(0.8)) step.b[k + 1] = step.b[k];
    }
  }
  const double c = draw() * draw();
  step.c = is_f64(unit) ? std::bit_cast<std::uint64_t>(c) : std::bit_cast<std::uint32_t>(static_cast<float>(c));
  return step;
}

}  // namespace

void Asker::set(Step& step, int k, double a, double b) const {
  step.a[k] = encode(unit_.inputs, a);
  step.b[k] = encode(unit_.inputs, b);
}

void Asker::add(Step& step, int place, Term product) const {
  const int half = product.exponent / 2;
  set(step, place, std::ldexp(product.significand, product.exponent - half), std::ldexp(1, half));
}

Step Asker::step_at(double c, const std::vector<std::pair<int, Term>>& products) const {
  Step step;
  for (const auto& [k, t] : products) add(step, k, t);
  step.c = is_f64(unit_) ? std::bit_cast<std::uint64_t>(c) : std::bit_cast<std::uint32_t>(static_cast<float>(c));
  return step;
}

Step Asker::step(double c, const std::vector<Term>& products) const {
  std::vector<std::pair<int, Term>> at;
  at.reserve(products.size());
  for (std::size_t k = 0; k < products.size(); ++k) at.emplace_back(places.at(k), products[k]);
  return step_at(c, at);
}

std::vector<StepResult> Asker::results(const std::vector<Step>& steps) {
  std::vector<StepResult> results = run_(unit_, steps);
  for (const StepResult& r : results) {
    missing = missing || r.ran == 0;
    uniform = uniform && r.uniform != 0;
  }
  return results;
}

std::vector<double> Asker::values(const std::vector<Step>& steps) {
  std::vector<double> values;
  for (const StepResult& r : results(steps)) values.push_back(value_of(unit_, r.d));
  return values;
}

void compare_random(Asker& asker, UnitProfile& profile, std::uint64_t seed, int steps) {
  constexpr int kBatch = 1 << 15;
  const Unit& unit = asker.unit();
  Random random(seed, 2);
  std::string first;
  for (int done = 0; done < steps; done += kBatch) {
    std::vector<Step> batch;
    for (int i = 0; i < std::min(kBatch, steps - done); ++i) batch.push_back(random_step(unit, random, asker));
    const auto results = asker.results(batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::uint64_t expected = model(asker, profile, batch[i]);
      const bool both_nan = is_f64(unit) && is_nan(unit, expected) && is_nan(unit, results[i].d);
      if (results[i].d == expected || both_nan) continue;  // of f64, no pattern of NaN is claimed
      if (profile.random_mismatches++ == 0)
        first = fmt::format("step {}: {:x}, model {:x}", done + static_cast<int>(i), results[i].d, expected);
    }
  }
  profile.random_steps = static_cast<std::uint64_t>(steps);
  const std::string what = profile.block.k == 0
                               ? std::string("fma, one product after the other")
                               : fmt::format("K = {}, F = {}, ofb = {}{}", profile.block.k, profile.block.f,
                                             profile.block.ofb, profile.c_last ? ", c last" : "");
  profile.answers.push_back({"random steps are the model's, bit for bit", profile.random_mismatches == 0,
                             fmt::format("{}: {} of {} differ{}{}", what, profile.random_mismatches, steps,
                                         first.empty() ? "" : "; ", first)});
}

UnitVerdict probe_unit(const Unit& unit, const Runner& run, std::uint64_t seed, int random_steps) {
  Asker asker(unit, run);
  UnitVerdict verdict;
  verdict.profile.name = unit.name;
  verdict.profile.block = {.k = 0, .f = 0, .ofb = 0};
  asker.value(asker.step(1, {}));
  if (asker.missing) return verdict;
  verdict.present = true;
  ask_block(asker, verdict.profile);
  ask_special(asker, verdict.profile, seed);
  compare_random(asker, verdict.profile, seed, random_steps);
  verdict.profile.answers.push_back(
      {"every element of a tile alike", asker.uniform,
       asker.uniform ? "equal operands, equal bits" : "the same operands gave two results"});
  return verdict;
}

}  // namespace flashproof::probe
