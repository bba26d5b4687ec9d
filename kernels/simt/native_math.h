// The GPU's approximations on the CPU executor, bit for bit (kernels/special_functions). One build of a kernel serves both
// maths: which it is, is a matter of the run.
#pragma once

namespace flashproof::simt {

/// Read at every call of math.h.
[[gnu::visibility("hidden")]] extern constinit bool native_math;

/// The mathematics of every launch in its scope.
class ScopedMath {
 public:
  explicit ScopedMath(bool native) : outer_(native_math) { native_math = native; }
  ~ScopedMath() { native_math = outer_; }
  ScopedMath(const ScopedMath&) = delete;
  ScopedMath& operator=(const ScopedMath&) = delete;

 private:
  bool outer_;
};

// What math.h has under FP_NATIVE_MATH. Calls, not inlined: they are the rarer branch.
float native_exp2(float x);
float native_exp(float x);
float native_log(float x);
float native_reciprocal(float x);
float native_tanh(float x);

}  // namespace flashproof::simt
