// Floats of one format in the lanes of a warp, by their bits: f64, f32, f16, bf16, or two of the last ones side by side, which
// are 64 lanes.
#pragma once

#include <bit>
#include <string>
#include <string_view>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/run/code.h"

namespace flashproof::ptx {

/// to nearest even, toward zero, down, up; odd: toward zero, the last bit 1 where something was lost, so that rounding the
/// result again, to a format two bits shorter or more, is as if the first one had been left out (Boldo & Melquiond 2008).
enum class Rounding : std::uint8_t { nearest, zero, down, up, odd };
Rounding rounding_of(const Form& form);  // rn where none is named; rni, rzi, rmi, rpi too

class Floats {
 public:
  Floats(BlockCode& code, std::string_view format);

  bool is_half() const { return bits_ == 16; }
  int bits() const { return bits_; }
  std::string type() const;       // of the bits: "<64 x i16>"
  std::string wide_type() const;  // what comparisons and exact arithmetic see: "<64 x float>", f64 "<32 x double>"
  std::string wide_name() const;  // "v64f32"
  std::string bools() const { return fmt::format("<{} x i1>", lanes_); }

  std::string read(const Operand& operand, bool flush = false);
  void write(const Operand& to, const std::string& bits);
  /// The same numbers as wide_type(); exact.
  std::string wide(const std::string& bits);
  /// wide_type() -> bits, rounded; f32 and f64 as they are.
  std::string narrow(const std::string& wide, Rounding rounding);
  /// f64 -> bits, rounded once.
  std::string narrow_double(const std::string& doubles, Rounding rounding);
  /// Of f16 and bf16.
  std::string doubles(const std::string& bits);

  std::string flushed(const std::string& bits);  // subnormals made zeros of their sign
  /// wide_type() of f32 or f64, times 2^64 or 2^-64.
  std::string raised(const std::string& wide);
  std::string lowered(const std::string& wide);
  /// What .ftz makes of a result: a zero where it is below the least normal number when rounded as if exponents had no end.
  /// `above`: the same result 2^64 times as large, rounded there.
  std::string flushed_below(const std::string& bits, const std::string& above);
  std::string is_nan(const std::string& wide);
  std::string select(const std::string& condition, const std::string& yes, const std::string& no);
  std::string with(const char* operation, const std::string& bits, std::uint64_t mask);
  std::uint64_t sign() const { return 1ULL << (bits_ - 1); }
  std::uint64_t quiet() const;  // the NaN that arithmetic makes of numbers
  std::string splat(std::uint64_t bits) const;
  /// The NaN of a result: of f64 that of the first operand here that is one, quiet; of other formats the same of all.
  std::string nan_of(const std::vector<std::string>& operands);
  /// The NaN that a conversion makes of one of `source`.
  std::string nan_from(Floats& source, const std::string& bits);
  /// A result as the GPU gives it: .sat, .relu, .satfinite, `nan` where it is one, and flushed if `flush`.
  std::string finished(const Form& form, const std::string& bits, bool flush, const std::string& nan);
  std::string finished(const Form& form, const std::string& bits, bool flush) {
    return finished(form, bits, flush, splat(quiet()));
  }

 private:
  int fraction() const { return std::countr_zero(infinity_); }  // bits behind the point
  std::uint64_t quiet_bit() const { return 1ULL << (fraction() - 1); }
  std::string adjusted(const std::string& bits, const std::string& back, const std::string& wide, Rounding rounding);

  BlockCode& code_;
  int bits_, lanes_;
  bool brain_;
  std::uint64_t infinity_;  // the exponent's bits
};

}  // namespace flashproof::ptx
