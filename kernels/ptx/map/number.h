// What the expressions of a map compute with: exact fractions, so that ceil(rows / 4) is what it says, and real numbers once a scale or a
// root comes in.
#pragma once

#include <cstdint>
#include <string>

namespace flashproof::ptx {

class Number {
 public:
  Number() = default;
  Number(std::int64_t whole) : top_(whole) {}          // NOLINT(google-explicit-constructor): a whole number is one
  Number(double real) : real_(real), exact_(false) {}  // NOLINT(google-explicit-constructor)

  bool is_whole() const { return exact_ && bottom_ == 1; }
  std::int64_t whole() const { return top_; }  // of one that is
  double real() const { return exact_ ? static_cast<double>(top_) / static_cast<double>(bottom_) : real_; }

  /// Each throws UsageError: "beyond 64 bits", "a division by zero", "no finite number".
  Number plus(const Number& other) const;
  Number times(const Number& other) const;
  Number over(const Number& other) const;
  Number negative() const { return times(Number(std::int64_t{-1})); }
  Number floor() const;
  Number root() const;
  bool less(const Number& other) const;

  /// "12", "7/2", "0.5", "2.0": for messages.
  std::string text() const;

 private:
  __extension__ using Wide = __int128;
  static Number fraction(Wide top, Wide bottom);
  static Number checked(double real);

  std::int64_t top_ = 0, bottom_ = 1;
  double real_ = 0;
  bool exact_ = true;
};

}  // namespace flashproof::ptx
