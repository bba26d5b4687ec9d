// The yardstick of the tests of the elementary functions: one MPFR number of 256 bits. A double-double whose words are
// within 2^200 of each other is exact in it, and so are the sums and products of two plain ones that the tests form.
#pragma once

#include <mpfr.h>

namespace flashproof {

class MpfrReal {
 public:
  MpfrReal() { mpfr_init2(value_, 256); }
  ~MpfrReal() { mpfr_clear(value_); }
  MpfrReal(const MpfrReal&) = delete;
  MpfrReal& operator=(const MpfrReal&) = delete;

  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

  void set(double hi, double lo = 0) {
    mpfr_set_d(value_, hi, MPFR_RNDN);
    mpfr_add_d(value_, value_, lo, MPFR_RNDN);
  }
  /// |hi + lo - this|/|this|; this is not 0.
  double relative_error_of(double hi, double lo = 0) const {
    MpfrReal difference;
    difference.set(hi, lo);
    mpfr_sub(difference.value_, difference.value_, value_, MPFR_RNDN);
    mpfr_div(difference.value_, difference.value_, value_, MPFR_RNDN);
    mpfr_abs(difference.value_, difference.value_, MPFR_RNDN);
    return mpfr_get_d(difference.value_, MPFR_RNDU);
  }

 private:
  mpfr_t value_;
};

}  // namespace flashproof
