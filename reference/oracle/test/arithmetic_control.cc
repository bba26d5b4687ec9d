// Compiled with FLASHPROOF_CONTROL defined as ieee or fast_math. The headers under test come in under a name of their own:
// the linker would otherwise keep one of the two builds of each inline function for everybody.
#define flashproof FLASHPROOF_CONTROL_HEADERS
#include "reference/oracle/double_double/dd.h"
#include "reference/oracle/double_double/dd_exp.h"
#undef flashproof

#include "reference/oracle/arithmetic_control.h"

namespace flashproof::control::FLASHPROOF_CONTROL {

namespace dd = FLASHPROOF_CONTROL_HEADERS;

Pair two_sum(double a, double b) {
  const dd::DD sum = dd::two_sum(a, b);
  return {sum.hi, sum.lo};
}

Pair dot(const double* a, const double* b, int n) {
  dd::DD sum;
  for (int i = 0; i < n; ++i) sum = sum + dd::two_product(a[i], b[i]);
  return {sum.hi, sum.lo};
}

Pair exp(double x) {
  const dd::DD value = dd::exp_dd(dd::DD{x, 0});
  return {value.hi, value.lo};
}

}  // namespace flashproof::control::FLASHPROOF_CONTROL
