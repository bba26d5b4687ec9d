// Attention with an online softmax, a warp per query: 4 elements of a head of at most 128 in each lane.
#include <math.h>

extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, float* lse, int q_length,
                                     int k_length, int d, float scale, int causal) {
  const int i = blockIdx.x, head = blockIdx.y, lane = threadIdx.x;
  const size_t row = static_cast<size_t>(head) * q_length + i;
  const int keys = causal ? min(k_length, max(0, i + k_length - q_length + 1)) : k_length;  // aligned bottom right
  float most = -INFINITY, sum = 0, value[4] = {0, 0, 0, 0};
  for (int j = 0; j < keys; ++j) {
    const size_t key = (static_cast<size_t>(head) * k_length + j) * d;
    float s = 0;
    for (int c = lane; c < d; c += 32) s += q[row * d + c] * k[key + c];
    for (int other = 16; other > 0; other /= 2) s += __shfl_xor_sync(~0u, s, other);
    s *= scale;
    const float next = fmaxf(most, s), shift = next == -INFINITY ? 0 : next;
    const float keep = expf(most - shift), p = expf(s - shift);
    sum = sum * keep + p;
    for (int n = 0; n < 4; ++n) {
      const int c = lane + 32 * n;
      if (c < d) value[n] = value[n] * keep + p * v[key + c];
    }
    most = next;
  }
  for (int n = 0; n < 4; ++n) {
    const int c = lane + 32 * n;
    if (c < d) o[row * d + c] = sum == 0 ? 0 : value[n] / sum;
  }
  if (lane == 0) lse[row] = sum == 0 ? -INFINITY : most + logf(sum);
}
