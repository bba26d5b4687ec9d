// Must be rejected: nvcc is free to contract a * b + c, and does.
__global__ void contracted(const float* x, float* y) { y[0] = x[0] * x[1] + x[2]; }
