// Simpler numbers in the same places: all equal, few distinct, powers of two, zeros, exponents near 0. NaN and infinities
// stay.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "properties/laws/support/change.h"
#include "properties/shrink/shrink.h"
#include "properties/shrink/tensors.h"

namespace flashproof {
namespace {

template <class F>
void change_numbers(Tensor& tensor, F f) {
  std::int64_t n = 0;
  for_each_offset(tensor, [&](std::int64_t offset) {
    const double x = decode(tensor.format, tensor.bits(offset));
    if (std::isfinite(x)) {
      // Rounding to fewer bits must not make an infinity of a large number: that would be another case.
      const double most = info(tensor.format).max_finite;
      tensor.set_bits(offset, encode(tensor.format, std::clamp<double>(f(x, n), -most, most)));
    }
    ++n;
  });
}

double power_of_two(double x) {
  if (x == 0) return 0;
  return std::copysign(std::ldexp(1.0, static_cast<int>(std::lround(std::log2(std::fabs(x))))), x);
}

double fewer_bits(double x, int bits) {
  if (x == 0) return 0;
  int exponent;
  const double significand = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}

/// ±f·2^e with e taken toward 0, by `steps` or by a part of it.
double nearer_one(double x, int part, int steps) {
  if (x == 0) return 0;
  const int e = std::ilogb(x);
  const int less = std::max(std::abs(e) / part - steps, 0);
  return std::ldexp(std::scalbn(x, -e), e < 0 ? -less : less);
}

struct Range {
  double first = 0, low = std::numeric_limits<double>::infinity(), high = -low;
};

Range range_of(const Tensor& tensor) {
  Range range;
  bool any = false;
  for_each_offset(tensor, [&](std::int64_t offset) {
    const double x = decode(tensor.format, tensor.bits(offset));
    if (!std::isfinite(x)) return;
    if (!any) range.first = x;
    any = true;
    range.low = std::min(range.low, x);
    range.high = std::max(range.high, x);
  });
  return range;
}

template <class P>
std::vector<Candidate> candidates(const P& problem) {
  std::vector<Candidate> list;
  const std::size_t tensors = tensors_of(problem).size();
  const auto add = [&](std::size_t t, const auto& f) {
    list.push_back([problem = &problem, t, f]() -> Problem {
      P copy = *problem;
      change_numbers(*tensors_of(copy)[t], f);
      leave_out_outputs(copy);
      return copy;
    });
  };
  for (std::size_t t = 0; t < tensors; ++t) {
    const Tensor& tensor = *tensors_of(problem)[t];
    const std::int64_t n = tensor.elements();
    if (tensor.shape.empty() || n == 0) continue;
    const Range range = range_of(tensor);
    add(t, [](double, std::int64_t) { return 0.0; });
    add(t, [](double, std::int64_t) { return 1.0; });
    add(t, [value = range.first](double, std::int64_t) { return value; });
    add(t, [value = power_of_two(range.first)](double, std::int64_t) { return value; });
    // Two numbers: each goes to the nearer end.
    add(t, [range](double x, std::int64_t) { return x - range.low < range.high - x ? range.low : range.high; });
    add(t, [](double x, std::int64_t) { return power_of_two(x); });
    add(t, [](double x, std::int64_t) { return fewer_bits(x, 2); });
    add(t, [](double x, std::int64_t) { return fewer_bits(x, 4); });
    add(t, [](double x, std::int64_t) { return std::nearbyint(x); });
    // Zeros in one of up to eight parts.
    const std::int64_t step = std::max<std::int64_t>((n + 7) / 8, 1);
    for (std::int64_t begin = 0; begin < n; begin += step) {
      add(t, [begin, step](double x, std::int64_t i) { return i >= begin && i < begin + step ? 0.0 : x; });
    }
    for (std::int64_t begin = 0; begin < n; begin += step) {
      add(t, [begin, step](double x, std::int64_t i) { return i >= begin && i < begin + step ? power_of_two(x) : x; });
    }
    add(t, [](double x, std::int64_t) { return nearer_one(x, 2, 0); });
    add(t, [](double x, std::int64_t) { return nearer_one(x, 1, 1); });
    for (std::int64_t begin = 0; begin < n; begin += step) {
      const auto part = [begin, step](std::int64_t i) { return i >= begin && i < begin + step; };
      add(t, [part](double x, std::int64_t i) { return part(i) ? nearer_one(x, 2, 0) : x; });
      add(t, [part](double x, std::int64_t i) { return part(i) ? nearer_one(x, 1, 1) : x; });
    }
  }
  return list;
}

}  // namespace

std::vector<Candidate> number_candidates(const Problem& problem) {
  return std::visit([](const auto& p) { return candidates(p); }, problem);
}

}  // namespace flashproof
