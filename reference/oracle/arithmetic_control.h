// The scalar double-double code compiled twice from one source, once with -ffast-math and its #error disarmed. What the
// error bounds of dd.h become then is a negative control: negative_control_test.cc.
#pragma once

namespace flashproof::control {

struct Pair {
  double hi, lo;
};

namespace ieee {
Pair two_sum(double a, double b);
Pair dot(const double* a, const double* b, int n);
Pair exp(double x);
}  // namespace ieee

namespace fast_math {
Pair two_sum(double a, double b);
Pair dot(const double* a, const double* b, int n);
Pair exp(double x);
}  // namespace fast_math

}  // namespace flashproof::control
