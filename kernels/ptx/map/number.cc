#include "kernels/ptx/map/number.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

__extension__ using Wide = __int128;

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b, b = rest;
  }
  return a < 0 ? -a : a;
}

bool fits(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

Number Number::fraction(Wide top, Wide bottom) {
  if (bottom == 0) throw UsageError("a division by zero");
  const Wide divisor = common_divisor(top, bottom) * (bottom < 0 ? -1 : 1);
  top /= divisor, bottom /= divisor;
  if (!fits(top) || !fits(bottom)) throw UsageError("beyond 64 bits");
  Number number(static_cast<std::int64_t>(top));
  number.bottom_ = static_cast<std::int64_t>(bottom);
  return number;
}

Number Number::checked(double real) {
  if (!std::isfinite(real)) throw UsageError("no finite number");
  return {real};
}

// Products of 64-bit numbers fit 126 bits: so do sums of two of them.
Number Number::plus(const Number& other) const {
  if (!exact_ || !other.exact_) return checked(real() + other.real());
  return fraction(Wide{top_} * other.bottom_ + Wide{other.top_} * bottom_, Wide{bottom_} * other.bottom_);
}

Number Number::times(const Number& other) const {
  if (!exact_ || !other.exact_) return checked(real() * other.real());
  return fraction(Wide{top_} * other.top_, Wide{bottom_} * other.bottom_);
}

Number Number::over(const Number& other) const {
  if (exact_ && other.exact_) return fraction(Wide{top_} * other.bottom_, Wide{bottom_} * other.top_);
  if (other.real() == 0) throw UsageError("a division by zero");
  return checked(real() / other.real());
}

Number Number::floor() const {
  if (exact_) return {top_ / bottom_ - (top_ % bottom_ < 0 ? 1 : 0)};
  const double down = std::floor(real_);
  if (!(std::fabs(down) < 0x1p62)) throw UsageError("beyond 64 bits");
  return {static_cast<std::int64_t>(down)};
}

Number Number::root() const {
  if (real() < 0) throw UsageError("no finite number");
  return checked(std::sqrt(real()));
}

bool Number::less(const Number& other) const {
  if (exact_ && other.exact_) return Wide{top_} * other.bottom_ < Wide{other.top_} * bottom_;
  return real() < other.real();
}

std::string Number::text() const {
  if (!exact_) {
    const std::string text = fmt::format("{}", real_);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;  // not a whole number's
  }
  return bottom_ == 1 ? fmt::format("{}", top_) : fmt::format("{}/{}", top_, bottom_);
}

}  // namespace flashproof::ptx
