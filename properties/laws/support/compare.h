// What relating laws compare with: numbers that a kernel returned, each with the distance that its own a-priori bound
// allows it from the exact one, and arithmetic on those.
//
// Let ŷ = RN(z), |z − o| <= B (reference/bound). Then |ŷ − o| <= B + h, h half the spacing of the format at ŷ: half an ulp
// of ŷ covers both sides of it. So if exact mathematics says that o_a = f(o_b), then |ŷ_a − f(ŷ_b)| is at most the radius
// of ŷ_a plus what f makes of the radius of ŷ_b. No other tolerance appears, and no truth.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "reference/bound/bound.h"
#include "reference/error/element.h"
#include "reference/error/verdict.h"

namespace flashproof {

/// [value − radius, value + radius] holds the exact number.
struct Measured {
  double value = 0;
  double radius = 0;
};

/// Exactly this number.
inline Measured exactly(double value) { return {value, 0}; }

// Interval arithmetic in double. The radius grows by kSlop of the magnitudes for the few roundings of an operation; all operands finite.
inline constexpr double kSlop = 0x1p-50;
// A result that double cannot hold is 0 ± inf: it says nothing.
Measured operator+(Measured a, Measured b);
Measured operator-(Measured a, Measured b);
Measured operator*(Measured a, Measured b);
/// e^a: the radius from |e^{a+r} − e^a| <= e^a (e^r − 1).
Measured exp(Measured a);
/// ln a of a number that is certainly positive; else a radius of +inf.
Measured log(Measured a);

/// How one element may be used.
enum class Standing : std::uint8_t {
  number,   // finite, its row in the domain, its bound finite
  special,  // NaN or an infinity, its row in the domain
  excused,  // the row is out of domain, or its bound is infinite: it may be anything that another law allows
};

/// An output beside its bound; lse as the natural logarithm, whatever base the contract declares. References must outlive it.
class Reading {
 public:
  Reading(const Output& output, const Bound& bound, const Contract& contract)
      : output_(output), bound_(bound), contract_(contract) {}

  std::int64_t rows() const { return bound_.rows; }
  std::int64_t width() const { return bound_.width; }
  /// column 0 for lse.
  double value(Part part, std::int64_t row, std::int64_t column) const;
  Standing standing(Part part, std::int64_t row, std::int64_t column) const;
  /// Of a number. The bound B alone for a special: what the exact one may lie beyond the format's range by.
  Measured at(Part part, std::int64_t row, std::int64_t column) const;
  Measured lse(std::int64_t row) const { return at(Part::lse, row, 0); }
  Measured o(std::int64_t row, std::int64_t column) const { return at(Part::o, row, column); }
  /// Half the spread of the values that o lies between (Bound::range), a quarter for lse: a comparison with a larger
  /// radius shows nothing.
  double sharp(Part part, std::int64_t row, std::int64_t column) const;
  Format format(Part part) const { return part == Part::o ? output_.o.format : output_.lse.format; }

 private:
  const ElementBound& bound_of(Part part, std::int64_t row, std::int64_t column) const;
  bool in_base_2(Part part) const;

  const Output& output_;
  const Bound& bound_;
  const Contract& contract_;
};

/// Two elements that must be the same, not both finite. may_be: an infinity, whose radius is its bound alone, beside a number or
/// the other infinity, where one exact value that both allow may round to beyond the format's range.
enum class Specials : std::uint8_t { same, may_be, differ };
Specials specials(const Measured& a, const Measured& b, Format format);

/// Collects the comparisons of one law on one case and says what came of them.
class Comparison {
 public:
  /// "computed" and "expected" must agree: |difference| <= the sum of the radii. `sharp`: above this sum of radii the
  /// comparison counts as blunt; a failure is a failure all the same. `what` names the element and the relation, for a
  /// failure: it is called only then.
  template <class What>
  void agree(const Measured& computed, const Measured& expected, double sharp, What what) {
    const double allowed = computed.radius + expected.radius;
    const double difference = computed.value - expected.value;
    if (count(difference, allowed, sharp))
      fail(Failure::exceeds_bound, difference, allowed, computed, expected, what());
  }
  /// The same of two that are not both finite: what specials() says of them.
  template <class What>
  void agree_specials(const Measured& computed, const Measured& expected, Format format, What what) {
    const Specials found = specials(computed, expected, format);
    if (found == Specials::same) held();
    if (found == Specials::differ) fail(Failure::class_mismatch, difference_of(computed, expected, what()));
  }
  /// Element (part, row, column) of one reading and of another must be the same number, or both special; where either is
  /// excused nothing is compared.
  void same_element(const Reading& computed, const Reading& expected, Part part, std::int64_t row, std::int64_t column,
                    std::int64_t expected_row, std::int64_t expected_column, std::string_view relation);
  /// All elements of two readings of the same shape; rows where `rows` (if not empty) is 0 are left out.
  void same(const Reading& computed, const Reading& expected, std::string_view relation,
            std::span<const std::uint8_t> rows = {});
  /// A failure of another kind. The most severe stays, of two alike the first; of numbers the one furthest outside.
  void fail(Failure failure, std::string detail);
  /// A part of the law needs a problem that the kernel may not take: true if `refusal` is empty, else it is kept as the
  /// reason to give where nothing else was asked.
  bool taken(std::string refusal);
  /// Something was tested and held, where it is not a comparison of numbers.
  void held() { ++sharp_; }
  /// What came of a part of the law: a pass held, a failure is this one, with `relation` behind its detail, and the first of what
  /// decided nothing is the reason to give where nothing held. False for a failure: no other part is worth a run.
  bool add(const Verdict& part, Failure failure, std::string_view relation);

  std::uint64_t compared() const { return sharp_ + blunt_; }
  /// fail with the most severe failure, pass if something sharp was compared, vacuous if a part of the law decided nothing,
  /// unsupported if all was refused, else vacuous(`nothing`).
  Verdict verdict(std::string_view nothing) const;

 private:
  static std::string difference_of(const Measured& computed, const Measured& expected, const std::string& what);
  /// True if it fails.
  bool count(double difference, double allowed, double sharp);
  void fail(Failure failure, double difference, double allowed, const Measured& computed, const Measured& expected,
            const std::string& what);

  std::uint64_t sharp_ = 0, blunt_ = 0, failures_ = 0;
  double worst_ = 0;  // difference/allowed of the failure shown
  Verdict failed_;
  std::string refusal_, undecided_;
};

/// lse of an output as the natural logarithm that a Reading has of it: what a law may hand on as a state.
Tensor natural_lse(const Output& output, const Contract& contract);

/// "" if o and lse are the same bits, every NaN counting as the same; else the first element that differs, as one line.
std::string first_difference(const Output& a, const Output& b);
/// The same for one row of each.
std::string first_difference(const Output& a, std::int64_t a_row, const Output& b, std::int64_t b_row);

/// "o[row 3, column 7]", "lse[row 3]"
std::string place_of(Part part, std::int64_t row, std::int64_t column);

}  // namespace flashproof
