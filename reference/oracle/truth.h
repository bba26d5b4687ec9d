// What is true: value and radius per output element, never a bare number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/oracle/zeroed.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Bits of Ball::classes: which classes of result are right. Several may be (an infinite v whose weight may underflow).
/// kUnspecified, alone: a kernel declares nothing of this element (reference/error/semantics/semantics.h); the oracle never says so.
enum Class : std::uint8_t { kFinite = 1, kPosInf = 2, kNegInf = 4, kNaN = 8, kUnspecified = 16 };

/// The exact result lies in [hi + lo − radius, hi + lo + radius]; |lo| <= ulp(hi)/2. Meaningful if classes has kFinite;
/// radius = +inf says nothing beyond the class; its sign bit is never set, that of 0 neither.
struct Ball {
  double hi = 0.0;
  double lo = 0.0;
  double radius = 0.0;
  std::uint8_t classes = kFinite;
};

/// certified: a theorem about rounding made the ball. symbolic: the answer follows from the special values among the
/// inputs alone (NaN, ±inf, no visible key), its radius is 0.
enum class Status : std::uint8_t { certified, symbolic };

/// How a row was computed, in the order of cost. dd: double-double; dd_scores: its scores only, the sums in doubles.
enum class Tier : std::uint8_t { symbolic, fp64, dd_scores, dd, exact };
inline constexpr int kTiers = 5;
inline std::string_view name(Tier tier) {
  constexpr std::string_view kNames[kTiers] = {"symbolic", "fp64", "dd_scores", "dd", "exact"};
  return kNames[static_cast<int>(tier)];
}

/// Balls as columns: a fast tier writes a million doubles a millisecond.
class Balls {
 public:
  Balls() = default;
  /// All exactly 0.
  explicit Balls(std::size_t size) : hi_(size), radius_(size) {}

  std::size_t size() const { return hi_.size(); }
  Ball operator[](std::size_t i) const {
    return {hi_[i], lo_.empty() ? 0.0 : lo_[i], radius_[i], classes_.empty() ? std::uint8_t{kFinite} : classes_[i]};
  }
  /// Not thread-safe before make_columns() has been called: the columns of lo and classes appear when they are first needed.
  void set(std::size_t i, const Ball& ball) {
    hi_[i] = ball.hi;
    radius_[i] = ball.radius;
    if (ball.lo != 0.0 && lo_.empty()) lo_.resize(size());
    if (!lo_.empty()) lo_[i] = ball.lo;
    if (ball.classes != kFinite && classes_.empty()) classes_.resize(size(), kFinite);
    if (!classes_.empty()) classes_[i] = ball.classes;
  }
  /// Makes room for lo and classes, after which distinct elements may be set by distinct threads.
  void make_columns() {
    lo_.resize(size());
    classes_.resize(size(), kFinite);
  }
  void push_back(const Ball& ball) {
    hi_.push_back(0.0);
    radius_.push_back(0.0);
    if (!lo_.empty()) lo_.push_back(0.0);
    if (!classes_.empty()) classes_.push_back(kFinite);
    set(size() - 1, ball);
  }

  /// For a tier whose balls are all finite with lo = 0. Distinct elements may be written by distinct threads.
  double* hi() { return hi_.data(); }
  double* radius() { return radius_.data(); }
  const double* hi() const { return hi_.data(); }
  const double* radius() const { return radius_.data(); }

 private:
  template <class T>
  using Column = std::vector<T, Zeroed<T>>;

  Column<double> hi_, radius_;
  std::vector<double> lo_;             // empty: all 0
  std::vector<std::uint8_t> classes_;  // empty: all kFinite
};

/// One row of truth, as the slower tiers return it.
struct RowBalls {
  std::vector<Ball> o;  // width
  Ball lse;
  Tier tier = Tier::symbolic;
  int bits = 0;  // precision of the exact tier, else 0
};

/// Of the parts of a problem; the others have no balls.
struct Truth {
  std::int64_t rows = 0;   // of o and lse, or of dq
  std::int64_t width = 0;  // of o, or of dq and dk
  Balls o;                 // rows x width
  Balls lse;               // rows
  std::vector<Tier> tier;  // rows; of a forward problem

  Balls dq;                      // rows x width
  Balls dk;                      // rows of k x width
  Balls dv;                      // rows of k x value_width
  std::int64_t value_width = 0;  // of dv
  std::int64_t exact_rows = 0;   // rows of gradients that went to the exact tier

  int max_bits = 0;               // highest precision of the exact tier; 0 = it was not needed
  std::int64_t inconclusive = 0;  // elements still wider than asked for at kMaxBits; the radius holds all the same

  const Balls& operator[](Part part) const {
    static constexpr Balls Truth::* kParts[kPartCount] = {&Truth::o, &Truth::lse, &Truth::dq, &Truth::dk, &Truth::dv};
    return this->*kParts[static_cast<std::size_t>(part)];
  }
  /// Columns of a part: 1 of lse.
  std::int64_t width_of(Part part) const { return part == Part::lse ? 1 : part == Part::dv ? value_width : width; }

  /// Every ball exactly 0.
  static Truth sized(std::int64_t rows, std::int64_t width, Tier tier = Tier::symbolic) {
    Truth truth;
    truth.rows = rows;
    truth.width = width;
    truth.o = Balls(static_cast<std::size_t>(rows * width));
    truth.lse = Balls(static_cast<std::size_t>(rows));
    truth.tier.assign(static_cast<std::size_t>(rows), tier);
    return truth;
  }
  /// After this distinct rows may be set by distinct threads.
  void make_columns() {
    o.make_columns();
    lse.make_columns();
  }
  /// max_bits is left to the caller.
  void set_row(std::int64_t row, const RowBalls& balls) {
    for (std::int64_t c = 0; c < width; ++c) {
      o.set(static_cast<std::size_t>(row * width + c), balls.o[static_cast<std::size_t>(c)]);
    }
    lse.set(static_cast<std::size_t>(row), balls.lse);
    tier[static_cast<std::size_t>(row)] = balls.tier;
  }
  /// Of o[row, column].
  Status status(std::int64_t row, std::int64_t column) const {
    const bool number = tier[row] != Tier::symbolic && o[row * width + column].classes == kFinite;
    return number ? Status::certified : Status::symbolic;
  }
};

}  // namespace flashproof
