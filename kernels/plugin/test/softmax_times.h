/* What the libraries that attack the judge compute: dense f32 softmax, o times a factor. It is wrong where that is not 1. */
#pragma once

#include <math.h>

#include "kernels/plugin.h"

static void softmax_times(const flashproof_call* call, float factor) {
  const flashproof_tensor* x = call->softmax->x;
  const int64_t rows = x->shape[0], cols = x->shape[1];
  const float* in = flashproof_data(x);
  float* o = flashproof_data(call->o);
  float* lse = flashproof_data(call->lse);
  for (int64_t r = 0; r < rows; ++r) {
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < cols; ++j) max = fmaxf(max, in[r * cols + j]);
    for (int64_t j = 0; j < cols; ++j) sum += o[r * cols + j] = expf(in[r * cols + j] - max);
    for (int64_t j = 0; j < cols; ++j) o[r * cols + j] *= factor / sum;
    lse[r] = max + logf(sum);
  }
}
