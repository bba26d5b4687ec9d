/* A plugin for the tests: kernels that compute nothing, and declare what might let them pass. One that is right is for
 * comparison. */
#include <math.h>
#include <stdio.h>

#include "kernels/plugin/test/plugin_parts.h"

enum Answer { RIGHT, NO_OFFSET, NOT_A_NUMBER, ZERO, ONE_AND_X, COPY_OF_V, REFUSE_LARGE, ANSWERS };

static int64_t elements(const flashproof_tensor* t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; ++i) n *= t->shape[i];
  return n;
}

static void fill(const flashproof_tensor* t, float value) {
  for (int64_t i = 0; t && i < elements(t); ++i) ((float*)flashproof_data(t))[i] = value;
}

static float at(const flashproof_tensor* t, int64_t b, int64_t h, int64_t i, int64_t c) {
  const float* data = flashproof_data(t);
  return data[b * t->strides[0] + h * t->strides[1] + i * t->strides[2] + c * t->strides[3]];
}

static void softmax_of(const flashproof_call* call, const float* in) {
  const flashproof_tensor* x = call->softmax->x;
  float *o = flashproof_data(call->o), *lse = flashproof_data(call->lse);
  for (int64_t r = 0; r < x->shape[0]; ++r) {
    const float* row = in + r * x->strides[0];
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < x->shape[1]; ++j) {
      if (isnan(row[j]) || row[j] > max) max = row[j];
      if (isnan(max)) break;
    }
    for (int64_t j = 0; j < x->shape[1]; ++j) sum += o[r * x->shape[1] + j] = max == -INFINITY ? 0 : expf(row[j] - max);
    for (int64_t j = 0; j < x->shape[1] && max != -INFINITY; ++j) o[r * x->shape[1] + j] /= sum;
    lse[r] = max == -INFINITY ? max : max + logf(sum);
  }
}

static void right_softmax(const flashproof_call* call) { softmax_of(call, flashproof_data(call->softmax->x)); }

/* Of one key: o is v, lse is the score. */
static void only_key(const flashproof_call* call) {
  const flashproof_attention* a = call->attention;
  const flashproof_tensor *q = a->q, *k = a->k, *v = a->v;
  float *o = flashproof_data(call->o), *lse = flashproof_data(call->lse);
  for (int64_t b = 0; b < q->shape[0]; ++b) {
    for (int64_t h = 0; h < q->shape[1]; ++h) {
      for (int64_t i = 0; i < q->shape[2]; ++i) {
        const int64_t row = (b * q->shape[1] + h) * q->shape[2] + i;
        float dot = 0;
        for (int64_t c = 0; c < q->shape[3]; ++c) dot += k->shape[2] ? at(q, b, h, i, c) * at(k, b, h, 0, c) : 0;
        lse[row] = k->shape[2] ? a->scale * dot : -INFINITY;
        for (int64_t c = 0; c < v->shape[3]; ++c) o[row * v->shape[3] + c] = v->shape[2] ? at(v, b, h, 0, c) : 0;
      }
    }
  }
}

static int32_t run(const flashproof_call* call) {
  switch ((enum Answer)(intptr_t)call->kernel->user) {
    case RIGHT:
      right_softmax(call);
      break;
    case NO_OFFSET:
      softmax_of(call, call->softmax->x->data);
      break;
    case NOT_A_NUMBER:
      fill(call->o, NAN);
      fill(call->lse, NAN);
      break;
    case ZERO:
      fill(call->o, 0);
      fill(call->lse, 0);
      break;
    case ONE_AND_X:
      right_softmax(call);
      fill(call->o, 1);
      break;
    case COPY_OF_V:
      only_key(call);
      break;
    case REFUSE_LARGE: {
      const flashproof_tensor* x = call->softmax->x;
      if (x->shape[1] > 8) {
        snprintf(call->error, call->error_size, "cols: legal 0..8");
        return FLASHPROOF_UNSUPPORTED;
      }
      right_softmax(call);
      break;
    }
    default:
      return FLASHPROOF_ERROR;
  }
  return FLASHPROOF_OK;
}

#define ATTENTION                                                                                             \
  "\"formats\": [\"f32\"], \"strides\": \"any\", \"takes\": [\"causal\", \"key_length\", \"bias\", \"gqa\", " \
  "\"window\","                                                                                               \
  " \"softcap\", \"alibi\", \"sink\", \"packed\", \"paged\", \"descale\", \"mixed\"]"
#define KERNEL(id, problem, answer, description) \
  {sizeof(flashproof_kernel), id, problem, FLASHPROOF_CPU, "{" description "}", run, 0, (void*)(intptr_t)(answer)}
static const flashproof_kernel kernels[] = {
    KERNEL("softmax.right.test", FLASHPROOF_SOFTMAX, RIGHT, "\"formats\": [\"f32\"]"),
    KERNEL("softmax.no_offset.test", FLASHPROOF_SOFTMAX, NO_OFFSET, "\"formats\": [\"f32\"]"),
    KERNEL("attention.scale_512.test", FLASHPROOF_ATTENTION, NOT_A_NUMBER,
           "\"formats\": [\"f32\"], \"strides\": \"any\","
           " \"arithmetic\": {\"preset\": \"triton\", \"weights\": {\"format\": \"e4m3fn\", \"scale\": 512}}"),
    KERNEL("attention.open_512.test", FLASHPROOF_ATTENTION, NOT_A_NUMBER,
           ATTENTION
           ", \"arithmetic\": {\"preset\": \"unknown\", \"weights\": {\"format\": \"e4m3fn\", \"scale\": 512}}"),
    KERNEL("attention.unknown.test", FLASHPROOF_ATTENTION, NOT_A_NUMBER, ATTENTION),
    KERNEL("attention.zero.test", FLASHPROOF_ATTENTION, ZERO,
           ATTENTION ", \"arithmetic\": {\"preset\": \"unknown\", \"exp_error\": 0.49, \"log_error\": 0.49, "
                     "\"log_absolute\": 0.99}"),
    KERNEL("attention.one_key.test", FLASHPROOF_ATTENTION, COPY_OF_V,
           "\"formats\": [\"f32\"], \"strides\": \"any\", \"limits\": {\"k_length\": [0, 1]}"),
    KERNEL("softmax.one_column.test", FLASHPROOF_SOFTMAX, ONE_AND_X,
           "\"formats\": [\"f32\"], \"limits\": {\"cols\": [1, 1]}"),
    KERNEL("softmax.refuse_large.test", FLASHPROOF_SOFTMAX, REFUSE_LARGE, "\"formats\": [\"f32\"]"),
    KERNEL("softmax.nothing.test", FLASHPROOF_SOFTMAX, ZERO,
           "\"formats\": [\"f32\"], \"limits\": {\"rows\": [2147483647, 2147483647]}")};
PLUGIN("adversary", "1.0", kernels)
