// Must be rejected: the hardware's approximate exponential.
__global__ void fast_exp(const float* x, float* y) { y[0] = __expf(x[0]); }
