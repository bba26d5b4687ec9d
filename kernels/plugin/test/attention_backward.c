/* The backward pass behind the C ABI: a right kernel, whose sums are in f64, and wrong ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/plugin/test/plugin_parts.h"

typedef flashproof_tensor T;

enum fault {
  RIGHT,
  NO_DELTA,
  NO_CAUSAL,
  LAST_HEAD,
  NO_SCALE,
  ZEROS,
  LAST_KEY,
  NO_ALIBI,
  RECOMPUTED,
  WRITES_O,
  ONE_KEY,
  EXCUSED
};

static float at(const T* t, int64_t a, int64_t b, int64_t c, int64_t d) {
  const int64_t* s = t->strides;
  return ((const float*)flashproof_data(t))[a * s[0] + b * s[1] + c * s[2] + (t->ndim > 3 ? d * s[3] : 0)];
}

/* The score of a pair, or -inf where the query does not see the key. */
static double score(const flashproof_attention* p, int fault, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t sq = p->q->shape[2], sk = p->k->shape[2], kv = h / (p->q->shape[1] / p->k->shape[1]);
  const int64_t diagonal = i + sk - sq;
  if (p->causal && j > diagonal && fault != NO_CAUSAL) return -INFINITY;
  if (p->window_left >= 0 && j < diagonal - p->window_left) return -INFINITY;
  if (p->window_right >= 0 && j > diagonal + p->window_right) return -INFINITY;
  if (p->key_length && j >= ((const int32_t*)flashproof_data(p->key_length))[b]) return -INFINITY;
  double sum = 0;
  for (int64_t c = 0; c < p->q->shape[3]; ++c) sum += (double)at(p->q, b, h, i, c) * at(p->k, b, kv, j, c);
  sum *= p->scale;
  if (p->bias) {
    const float bias = at(p->bias, b, h, i, j);
    if (bias == -INFINITY) return -INFINITY;
    sum += bias;
  }
  if (p->alibi && fault != NO_ALIBI) {
    const int64_t* s = p->alibi->strides;
    const float slope = ((const float*)flashproof_data(p->alibi))[b * s[0] + h * s[1]];
    sum -= (double)slope * (double)llabs(diagonal - j);
  }
  return sum;
}

static void add_query(const flashproof_attention_backward* g, int fault, int64_t b, int64_t h, int64_t i, double* dq,
                      double* dk, double* dv) {
  const flashproof_attention* p = g->forward;
  const int64_t sk = p->k->shape[2], d = p->q->shape[3], width = p->v->shape[3];
  const int64_t kv = h / (p->q->shape[1] / p->k->shape[1]);
  double delta = 0, lse = at(g->lse, b, h, i, 0);
  for (int64_t c = 0; c < width; ++c) delta += (double)at(g->d_out, b, h, i, c) * at(g->o, b, h, i, c);
  if (fault == NO_DELTA) delta = 0;
  if (fault == RECOMPUTED) { /* lse of its own, less one key */
    double sum = 0;
    for (int64_t j = 1; j < sk; ++j) sum += exp(score(p, fault, b, h, i, j));
    if (sum > 0) lse = log(sum);
  }
  for (int64_t j = 0; j < (fault == LAST_KEY ? sk - 1 : sk); ++j) {
    const double s = score(p, fault, b, h, i, j);
    if (s == -INFINITY) continue;
    const double weight = exp(s - lse);
    double dp = 0;
    for (int64_t c = 0; c < width; ++c) dp += (double)at(g->d_out, b, h, i, c) * at(p->v, b, kv, j, c);
    const double ds =
        weight * (dp - delta) * (fault == NO_SCALE ? 1 : p->scale) * (fault == ONE_KEY && sk == 1 ? 0.5 : 1);
    for (int64_t c = 0; c < d; ++c) {
      dq[c] += ds * at(p->k, b, kv, j, c);
      dk[j * d + c] += ds * at(p->q, b, h, i, c);
    }
    for (int64_t c = 0; c < width; ++c) dv[j * width + c] += weight * at(g->d_out, b, h, i, c);
  }
}

static void store(const T* t, int64_t first, const double* values, int64_t count) {
  for (int64_t n = 0; n < count; ++n) ((float*)flashproof_data(t))[first + n] = (float)values[n];
}

static int32_t run(const flashproof_call* call) {
  const int fault = *(const int*)call->kernel->user;
  const flashproof_attention_backward* g = call->attention_backward;
  const flashproof_attention* p = g->forward;
  const int64_t batch = p->q->shape[0], heads = p->q->shape[1], sq = p->q->shape[2], d = p->q->shape[3];
  const int64_t kv_heads = p->k->shape[1], sk = p->k->shape[2], width = p->v->shape[3];
  const int64_t group = kv_heads > 0 ? heads / kv_heads : 0;
  const size_t room = (size_t)(d + sk * (d + width) + 1);
  double* const sums = malloc(room * sizeof(double));
  if (!sums) return FLASHPROOF_ERROR;
  double *const dq = sums, *const dk = dq + d, *const dv = dk + sk * d;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t kv = 0; kv < kv_heads; ++kv) {
      memset(sums, 0, room * sizeof(double));
      for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        if (fault == LAST_HEAD) memset(dk, 0, (size_t)(sk * (d + width)) * sizeof(double));
        for (int64_t i = 0; i < sq; ++i) {
          memset(dq, 0, (size_t)d * sizeof(double));
          if (fault != ZEROS) add_query(g, fault, b, h, i, dq, dk, dv);
          store(call->dq, ((b * heads + h) * sq + i) * d, dq, d);
        }
      }
      store(call->dk, (b * kv_heads + kv) * sk * d, dk, sk * d);
      store(call->dv, (b * kv_heads + kv) * sk * width, dv, sk * width);
    }
  }
  free(sums);
  if (fault == WRITES_O && g->o->shape[2] > 0) ((float*)flashproof_data(g->o))[0] = 1;
  return FLASHPROOF_OK;
}

#define DESCRIPTION(dot)                                                \
  "{\"formats\": [\"f32\"], \"arithmetic\": {\"exp_error\": 2.4e-7" dot \
  "}, \"deterministic\": true, \"isolates_hidden\": "                   \
  "true, \"strides\": \"any\", \"takes\": [\"causal\", \"key_length\", \"bias\", \"gqa\", \"window\", \"alibi\"]}"
static const char description[] = DESCRIPTION("");
/* Scores of sums so coarse that e^(s - lse) may leave the range of f32: then nearly nothing is in the domain. */
static const char coarse[] = DESCRIPTION(", \"dot\": {\"unit\": {\"k\": 1, \"f\": 1, \"ofb\": 7}}");

static int faults[] = {RIGHT,    NO_DELTA, NO_CAUSAL,  LAST_HEAD, NO_SCALE, ZEROS,
                       LAST_KEY, NO_ALIBI, RECOMPUTED, WRITES_O,  ONE_KEY,  EXCUSED};
#define KERNEL(fault, name) DESCRIBED(fault, name, description)
#define DESCRIBED(fault, name, text)   \
  {sizeof(flashproof_kernel),          \
   "attention_backward." name ".test", \
   FLASHPROOF_ATTENTION_BACKWARD,      \
   FLASHPROOF_CPU,                     \
   text,                               \
   run,                                \
   0,                                  \
   &faults[fault]}
static const flashproof_kernel kernels[] = {
    KERNEL(RIGHT, "right"),         KERNEL(NO_DELTA, "no_delta"), KERNEL(NO_CAUSAL, "no_causal"),
    KERNEL(LAST_HEAD, "last_head"), KERNEL(NO_SCALE, "no_scale"), KERNEL(ZEROS, "zeros"),
    KERNEL(LAST_KEY, "last_key"),   KERNEL(NO_ALIBI, "no_alibi"), KERNEL(RECOMPUTED, "recomputed"),
    KERNEL(WRITES_O, "writes_o"),   KERNEL(ONE_KEY, "one_key"),   DESCRIBED(EXCUSED, "excused", coarse)};
PLUGIN("gradient", "", kernels)
