#include "reference/bound/backward/accumulation.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

double aligned(double x, Format format) {
  if (x < min_subnormal(format) / 2) return 0;
  return std::max(x, min_normal(format));
}

double lost_per_operation(const Products& products, Underflow underflow) {
  const bool unit = products.unit.k > 0;
  if (underflow == Underflow::flush) {  // a coarse unit may cut more than a 2^-5 of it beside a subnormal accumulator
    return 0x1p-126 + std::max(0x1p-131, unit ? unit_underflow(products.unit) : 0);
  }
  return unit ? unit_underflow(products.unit) : 0x1p-150;
}

SumCost cost_of(const Products& products, std::int64_t n, std::int64_t terms) {
  const auto up = [](std::int64_t a, std::int64_t b) {
    const std::int64_t quotient = (a + b - 1) / b;
    return static_cast<double>(quotient);
  };
  const auto count = static_cast<double>(terms);
  if (terms == 0) return {};
  if (products.unit.k > 0) {
    const BlockFma& unit = products.unit;
    const double cut = std::ldexp(unit.k + 1, -unit.f);
    const double beta = cut + std::ldexp(1 + cut, -unit.ofb);
    const double steps = std::min(up(n, unit.k), count);
    return {steps * std::log1p(beta) * kSlack, steps};
  }
  const double depth =
      std::min(up(n, products.chains), count) + std::min<double>(log2_ceil(products.chains), count - 1);
  return {roundings(depth), 2 * count};
}

SumCost cost_of(const Accumulation& a, std::int64_t n, std::int64_t terms) {
  const std::int64_t length = a.block > 0 ? std::min<std::int64_t>(a.block, n) : n;
  if (terms == 0) return {};
  const std::int64_t blocks = std::min((n + length - 1) / length, terms);
  SumCost cost = cost_of(a.products, length, std::min(length, terms));
  cost.log_units += roundings(static_cast<double>(blocks - 1));
  cost.operations = std::min(cost.operations * static_cast<double>(blocks), 2.0 * static_cast<double>(terms)) +
                    static_cast<double>(blocks - 1);
  return cost;
}

double storage_units(Format format) { return format == Format::f32 ? 0 : -std::log1p(-unit_roundoff(format)) * kSlack; }

double storage_underflow(Format format, Underflow underflow) {
  if (format == Format::f32) return 0;
  const bool flushed = underflow == Underflow::flush && min_normal(format) == 0x1p-126;
  return flushed ? 0x1p-126 : min_subnormal(format) / 2;
}

void require_covered(const Products& products, const char* name) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(std::string("declared arithmetic: ") + name + ": " + what);
  };
  const BlockFma& unit = products.unit;
  require(products.chains > 0, "chains: at least 1");
  require(unit.k == 0 || (unit.k > 0 && unit.f > 0 && unit.ofb > 0 && unit.f <= 60 && unit.ofb <= 24),
          "unit: k, f and ofb must be positive");
  require(products.promote == 0, "promote: not covered in the backward pass");
  require(!products.tf32_inputs, "tf32_inputs: not covered in the backward pass");
}

}  // namespace flashproof::bound
