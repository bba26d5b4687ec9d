#include "kernels/ptx/test/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "reference/problem/formats.h"

namespace flashproof::ptx {
namespace {

constexpr int kWide = 2200;  // bits in which sums and products of f64 are exact

Format format_of(const FloatFormat& format) {
  return format.name == "f16" ? Format::f16 : format.name == "bf16" ? Format::bf16 : Format::f32;
}

const FloatFormat kFormats[] = {{"f16", 16, 11, 5, 0x7fff},
                                {"bf16", 16, 8, 8, 0x7fff},
                                {"f32", 32, 24, 8, 0x7fffffff},
                                {"f64", 64, 53, 11, 0xfff8000000000000}};

/// Exact: the format is narrow enough for a double.
std::uint64_t pattern(const FloatFormat& format, double x) {
  if (std::isnan(x)) return format.quiet;
  return format.bits == 64 ? std::bit_cast<std::uint64_t>(x) : encode(format_of(format), x);
}

/// Rounded to the format's precision -> its subnormals, or zero.
void end_below(const FloatFormat& format, mpfr_t r, int inexact, mpfr_rnd_t mode, bool flush) {
  const mpfr_exp_t least = 3 - (1 << (format.exponent_bits - 1));  // MPFR's exponent of the least normal number
  if (flush && mpfr_regular_p(r) != 0 && mpfr_get_exp(r) < least) mpfr_set_zero(r, mpfr_signbit(r) != 0 ? -1 : 1);
  mpfr_subnormalize(r, inexact, mode);
}

}  // namespace

const FloatFormat& float_format(std::string_view name) {
  return *std::ranges::find(kFormats, name, &FloatFormat::name);
}

std::uint64_t FloatFormat::saturated(std::uint64_t x) const {
  const double number = value(x);
  return number > 0 ? (number >= 1 ? one() : x) : 0;
}

std::uint64_t FloatFormat::nan_of(const std::vector<std::uint64_t>& x) const {
  const auto nan = std::ranges::find_if(x, [&](std::uint64_t each) { return is_nan(each); });
  return bits == 64 && nan != x.end() ? *nan | 1ULL << (precision - 2) : quiet;
}

double FloatFormat::value(std::uint64_t x) const {
  return bits == 64 ? std::bit_cast<double>(x) : decode(format_of(*this), x);
}

const char* FloatFormat::in(int i) const {
  static constexpr const char* kNames[][3] = {{"%h1", "%h2", "%h3"}, {"%w1", "%w2", "%w3"}, {"%d1", "%d2", "%d3"}};
  return kNames[bits / 32][i - 1];
}
const char* FloatFormat::out() const { return bits == 16 ? "%oh" : bits == 32 ? "%ow" : "%od"; }

std::uint64_t rounded(const FloatFormat& format, mpfr_t x, mpfr_rnd_t mode, bool flush) {
  const mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
  const int top = 1 << (format.exponent_bits - 1);
  mpfr_t r;
  mpfr_init2(r, format.precision);
  int inexact = mpfr_set(r, x, mode);
  mpfr_set_emin(4 - top - format.precision);
  mpfr_set_emax(top);
  inexact = mpfr_check_range(r, inexact, mode);
  end_below(format, r, inexact, mode, flush);
  const double number = mpfr_get_d(r, MPFR_RNDN);
  mpfr_set_emin(low);
  mpfr_set_emax(high);
  mpfr_clear(r);
  return pattern(format, number);
}

std::uint64_t exact(const FloatFormat& format, std::string_view opcode, mpfr_rnd_t mode,
                    const std::vector<std::uint64_t>& x, bool flush) {
  const mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
  const int top = 1 << (format.exponent_bits - 1);
  mpfr_t r, a, b, c;
  mpfr_inits2(format.precision, r, a, b, c, nullptr);
  mpfr_set_d(a, format.value(x[0]), MPFR_RNDN);
  mpfr_set_d(b, format.value(x.size() > 1 ? x[1] : 0), MPFR_RNDN);
  mpfr_set_d(c, format.value(x.size() > 2 ? x[2] : 0), MPFR_RNDN);
  mpfr_set_emin(4 - top - format.precision);
  mpfr_set_emax(top);
  int inexact = 0;
  if (opcode == "add") inexact = mpfr_add(r, a, b, mode);
  if (opcode == "sub") inexact = mpfr_sub(r, a, b, mode);
  if (opcode == "mul") inexact = mpfr_mul(r, a, b, mode);
  if (opcode == "div") inexact = mpfr_div(r, a, b, mode);
  if (opcode == "rcp") inexact = mpfr_ui_div(r, 1, a, mode);
  if (opcode == "sqrt") inexact = mpfr_sqrt(r, a, mode);
  if (opcode == "fma" || opcode == "mad") inexact = mpfr_fma(r, a, b, c, mode);
  end_below(format, r, inexact, mode, flush);
  const double number = mpfr_get_d(r, MPFR_RNDN);
  mpfr_clears(r, a, b, c, nullptr);
  mpfr_set_emin(low);
  mpfr_set_emax(high);
  if (!std::isnan(number)) return pattern(format, number);
  std::vector<std::uint64_t> order =
      x;  // whose NaN goes first: of a quotient the first, else the second, the third, the first
  if (opcode != "div") std::ranges::rotate(order, order.begin() + (order.size() > 1 ? 1 : 0));
  return format.nan_of(order);
}

std::uint64_t converted(const FloatFormat& from, const FloatFormat& to, std::uint64_t x, mpfr_rnd_t mode, bool flush) {
  if (from.is_nan(x) && (from.bits == 64 || to.bits == 64)) {  // keeps its sign and the upper bits of its fraction
    const std::uint64_t fraction = x << (65 - from.precision) >> (65 - to.precision);
    return ((x & from.sign()) != 0 ? to.sign() : 0) | to.infinity() | 1ULL << (to.precision - 2) | fraction;
  }
  mpfr_t number;
  mpfr_init2(number, kWide);
  mpfr_set_d(number, from.value(x), MPFR_RNDN);
  const std::uint64_t result = rounded(to, number, mode, flush);
  mpfr_clear(number);
  return result;
}

std::vector<Input> inputs_of(const FloatFormat& format, int operands) {
  const std::uint64_t one = format.one(), infinity = format.infinity(), least = 1ULL << (format.precision - 1);
  std::vector<std::uint64_t> nasty = {0,
                                      1,
                                      2,
                                      least - 1,
                                      least,
                                      least + 1,
                                      one - 1,
                                      one,
                                      one + 1,
                                      infinity - 1,
                                      infinity,
                                      infinity + 1,
                                      infinity | least >> 1,
                                      least << 2,
                                      infinity - least};
  for (const double x : {7.0, 37.0, 63.0, 65.0, 0.5, 65504.0})
    nasty.push_back(pattern(format, x));  // 7 * 37: a tie of bf16
  for (std::size_t i = nasty.size(); i-- > 0;) {
    if (operands < 3 || i % 2 == 0) nasty.push_back(nasty[i] | format.sign());
  }
  std::vector<Input> inputs = tuples_of(nasty, operands);
  std::mt19937_64 random(3);
  const std::uint64_t all = ~0ULL >> (64 - format.bits);
  for (int i = 0; i < 6000; ++i) {
    Input input{random() & all, random() & all, random() & all};
    if (i % 3 == 0) {  // near one another in exponent
      for (std::uint64_t* x : {&input.a, &input.b, &input.c})
        *x = (*x & (format.sign() | (4 * least - 1))) | (one & ~(4 * least - 1));
    }
    if (i % 3 == 1) input.c = exact(format, "mul", MPFR_RNDN, {input.a, input.b}) ^ format.sign();  // cancels
    inputs.push_back(input);
  }
  return inputs;
}

}  // namespace flashproof::ptx
