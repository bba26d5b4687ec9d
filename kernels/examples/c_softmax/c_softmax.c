/* A row softmax in plain C behind flashproof's C ABI: the kernel, a function that unpacks the call, and the description. */
#include <math.h>
#include <stdio.h>

#include "kernels/plugin.h"

/* The kernel, as it would be without flashproof: o = exp(x - max) / sum, lse = max + log(sum), over `length` columns. */
static void row_softmax(const float* x, int64_t step, int64_t length, int64_t cols, float* o, float* lse) {
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < length; ++j) {
    if (x[j * step] > max || isnan(x[j * step])) max = x[j * step];
    if (isnan(max)) break;
  }
  for (int64_t j = 0; j < cols; ++j) o[j] = 0; /* behind the row's length, and in a row of nothing but -inf */
  *lse = max;
  if (max == -INFINITY) return;
  for (int64_t j = 0; j < length; ++j) sum += o[j] = expf(x[j * step] - max);
  for (int64_t j = 0; j < length; ++j) o[j] /= sum;
  *lse = max + logf(sum);
}

static int32_t run(const flashproof_call* call) {
  const flashproof_tensor* x = call->softmax->x;
  const int32_t* row_length = flashproof_data(call->softmax->row_length); /* null: every column */
  const int64_t rows = x->shape[0], cols = x->shape[1];
  const float* in = flashproof_data(x);
  float* o = flashproof_data(call->o);
  float* lse = flashproof_data(call->lse);
  if (x->dtype.code != FLASHPROOF_FLOAT || x->dtype.bits != 32) { /* "formats" says that it never is */
    snprintf(call->error, call->error_size, "x is not f32");
    return FLASHPROOF_ERROR;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t length = row_length ? row_length[r] : cols;
    row_softmax(in + r * x->strides[0], x->strides[1], length, cols, o + r * cols, lse + r);
  }
  return FLASHPROOF_OK;
}

static const flashproof_kernel kernel = {
    .struct_size = sizeof(flashproof_kernel),
    .id = "softmax.row.c",
    .problem = FLASHPROOF_SOFTMAX,
    .device_type = FLASHPROOF_CPU,
    .description =
        "{\"formats\": [\"f32\"], \"takes\": [\"row_length\"], \"strides\": \"any\","
        " \"deterministic\": true, \"isolates_hidden\": true, \"arithmetic\": \"unknown\"}",
    .run = run,
};
static const flashproof_kernel* const kernels[] = {&kernel};
static const flashproof_plugin plugin = {
    .abi_version = FLASHPROOF_PLUGIN_ABI,
    .struct_size = sizeof(flashproof_plugin),
    .name = "c_softmax",
    .version = "1.0",
    .kernel_count = 1,
    .kernels = kernels,
};

const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) { return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : 0; }
