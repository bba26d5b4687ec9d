// Must be accepted: one rounding per operation, integers, compares, a shuffle. (With -ftz=true it must be rejected.)
__global__ void clean(const float* x, float* y) {
  const float product = __fmul_rn(x[0], x[1]);
  const float sum = __fadd_rn(product, __fmaf_rn(x[2], x[3], x[4]));
  const float quotient = __fdiv_rn(sum, __fsqrt_rn(x[5]));
  const float other = __shfl_xor_sync(0xffffffffu, quotient, 1);
  y[threadIdx.x] = quotient < other ? other : quotient;
}
