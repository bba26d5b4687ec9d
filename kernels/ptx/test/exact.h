// What an operation on floats gives by MPFR: one rounding, in the range and with the subnormals of the format.
#pragma once

#include <mpfr.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {

/// "f16", "bf16", "f32", "f64".
struct FloatFormat {
  std::string name;
  int bits, precision, exponent_bits;
  std::uint64_t quiet;  // the NaN of an operation on numbers

  std::uint64_t sign() const { return 1ULL << (bits - 1); }
  std::uint64_t infinity() const { return ((1ULL << exponent_bits) - 1) << (precision - 1); }
  std::uint64_t one() const { return ((1ULL << (exponent_bits - 1)) - 1) << (precision - 1); }
  bool is_nan(std::uint64_t x) const { return (x & (sign() - 1)) > infinity(); }
  std::uint64_t flushed(std::uint64_t x) const { return (x & infinity()) == 0 ? x & sign() : x; }
  /// The NaN of an operation: of f64 the first of these that is one, quiet.
  std::uint64_t nan_of(const std::vector<std::uint64_t>& x) const;
  /// 0 where it is negative or NaN, 1 at most.
  std::uint64_t saturated(std::uint64_t x) const;
  double value(std::uint64_t x) const;  // exact
  const char* in(int i) const;          // "%h1" and so on
  const char* out() const;
};
const FloatFormat& float_format(std::string_view name);

struct Mode {
  const char* name;  // ".rz"
  mpfr_rnd_t mpfr;
};
inline constexpr Mode kModes[] = {{".rn", MPFR_RNDN}, {".rz", MPFR_RNDZ}, {".rm", MPFR_RNDD}, {".rp", MPFR_RNDU}};

/// "add", "sub", "mul", "div", "rcp", "sqrt", "fma" or "mad" of patterns. `flush`: a result is 0 that is below the least normal
/// number when rounded as if exponents had no end.
std::uint64_t exact(const FloatFormat& format, std::string_view opcode, mpfr_rnd_t mode,
                    const std::vector<std::uint64_t>& x, bool flush = false);
/// A number that MPFR has -> the format.
std::uint64_t rounded(const FloatFormat& format, mpfr_t x, mpfr_rnd_t mode, bool flush = false);
/// The pattern of another format or an integer -> the format.
std::uint64_t converted(const FloatFormat& from, const FloatFormat& to, std::uint64_t x, mpfr_rnd_t mode,
                        bool flush = false);

/// Every pair, or triple, of the format's nasty patterns, and random ones.
std::vector<Input> inputs_of(const FloatFormat& format, int operands);

}  // namespace flashproof::ptx
