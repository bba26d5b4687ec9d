// Exact logarithms and exponentials for the tests of det_math.h.
#pragma once

#include <mpfr.h>

namespace flashproof::det_test {

using MpfrFunction = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/// The double nearest to the exact value.
template <MpfrFunction function>
double nearest_double(double x) {
  static thread_local struct Holder {
    Holder() { mpfr_init2(value, 53); }
    ~Holder() { mpfr_clear(value); }
    mpfr_t value;
  } holder;
  mpfr_set_d(holder.value, x, MPFR_RNDN);  // exact
  function(holder.value, holder.value, MPFR_RNDN);
  return mpfr_get_d(holder.value, MPFR_RNDN);
}

/// |y − exact| and |y − exact| / |exact|, computed with 200 bits. The exact value must not be 0.
struct ExactError {
  double absolute, relative, magnitude;
};

template <MpfrFunction function>
ExactError exact_error(float y, float x) {
  mpfr_t truth, error;
  mpfr_inits2(200, truth, error, static_cast<mpfr_ptr>(nullptr));
  mpfr_set_flt(truth, x, MPFR_RNDN);
  function(truth, truth, MPFR_RNDN);
  mpfr_set_flt(error, y, MPFR_RNDN);
  mpfr_sub(error, error, truth, MPFR_RNDN);
  mpfr_abs(error, error, MPFR_RNDN);
  mpfr_abs(truth, truth, MPFR_RNDN);
  ExactError result;
  result.absolute = mpfr_get_d(error, MPFR_RNDN);
  result.magnitude = mpfr_get_d(truth, MPFR_RNDN);
  mpfr_div(error, error, truth, MPFR_RNDN);
  result.relative = mpfr_get_d(error, MPFR_RNDN);
  mpfr_clears(truth, error, static_cast<mpfr_ptr>(nullptr));
  return result;
}

}  // namespace flashproof::det_test
