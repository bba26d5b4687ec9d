// The constructed vectors. For units.cc only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kernels/probe/units.h"

namespace flashproof::probe {

/// One product or addend: sign · significand · 2^exponent, the significand below 2 with at most two fraction bits.
struct Term {
  double significand = 0;
  int exponent = 0;
};

/// Asks one unit.
class Asker {
 public:
  Asker(const Unit& unit, const Runner& run) : exponents(unit.inputs), unit_(unit), run_(run) {
    for (int k = 0; k < unit.products; ++k) places.push_back(k);
  }

  const Unit& unit() const { return unit_; }
  /// The results' values, in order. Sets `broken` if the instruction is missing or its tile was not uniform.
  std::vector<double> values(const std::vector<Step>& steps);
  std::vector<StepResult> results(const std::vector<Step>& steps);
  double value(const Step& step) { return values({step}).at(0); }
  /// c and products at places[0], places[1], ...
  Step step(double c, const std::vector<Term>& products) const;
  Step step_at(double c, const std::vector<std::pair<int, Term>>& products) const;
  void add(Step& step, int place, Term product) const;
  /// Place k of the step: a · b as bits.
  void set(Step& step, int k, double a, double b) const;

  /// Products of exponents least() .. most() have normal factors.
  int most() const { return most_; }
  int least() const { return least_; }

  /// The places of an instruction's products, in the order of the steps that add them; ask_block() finds it.
  std::vector<int> places;
  /// Whose exponents the factors have: the inputs' format, or a wider one that they are converted to first.
  Format exponents;

  bool missing = false;
  bool uniform = true;

 private:
  const Unit& unit_;
  const Runner& run_;
  int most_ = unit_.inputs == Format::e4m3fn ? 16 : 28;
  int least_ = unit_.inputs == Format::e4m3fn ? -12 : -28;
};

/// K, F and ofb, and with them the answers to what the block model claims. Of a unit that is no block unit K is 0.
void ask_block(Asker& asker, UnitProfile& profile);
/// Subnormals, order, NaN, infinities, overflow, signs of zero.
void ask_special(Asker& asker, UnitProfile& profile, std::uint64_t seed);
/// Random steps against the model of profile.block (k = 0: a chain of fma in order).
void compare_random(Asker& asker, UnitProfile& profile, std::uint64_t seed, int steps);

}  // namespace flashproof::probe
