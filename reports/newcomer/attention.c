/* Attention as one might write it, behind the C ABI, with one mistake per -D: a newcomer's kernels (tasks.py). */
#include <math.h>
#include <stdlib.h>

#include "kernels/plugin.h"

static float at(const flashproof_tensor* t, int64_t b, int64_t h, int64_t i, int64_t x) {
  const float* first = (const float*)flashproof_data(t);
  return first[b * t->strides[0] + h * t->strides[1] + i * t->strides[2] + x * t->strides[3]];
}

/* Does query i see key j? */
static int sees(const flashproof_attention* p, int64_t i, int64_t j, int64_t queries, int64_t keys) {
  if (!p->causal) return 1;
#ifdef MASK_TOP_LEFT
  (void)queries, (void)keys;
  return j <= i;
#else
  return j <= i + keys - queries;
#endif
}

/* o and lse of one query; s: room for a score per key. */
static float one_row(const flashproof_attention* p, int64_t b, int64_t h, int64_t i, float* s, float* o) {
  const int64_t queries = p->q->shape[2], d = p->q->shape[3], dv = p->v->shape[3];
  const int64_t kv_head = h / (p->q->shape[1] / p->k->shape[1]);
  int64_t keys = p->k->shape[2];
  float m = -INFINITY, l = 0;
#ifdef LAST_TILE_DROPPED
  keys -= keys % 16;
#endif
  for (int64_t j = 0; j < keys; ++j) {
    float dot = 0;
    for (int64_t x = 0; x < d; ++x) dot = fmaf(at(p->q, b, h, i, x), at(p->k, b, kv_head, j, x), dot);
    s[j] = sees(p, i, j, queries, p->k->shape[2]) ? dot * p->scale : -INFINITY;
    if (s[j] > m || s[j] != s[j]) m = s[j]; /* NaN stays */
  }
  for (int64_t x = 0; x < dv; ++x) o[x] = m == -INFINITY ? 0 : m == m ? 0 : m;
  if (m == -INFINITY || m != m) return m;
  for (int64_t j = 0; j < keys; ++j) {
    const float weight = expf(s[j] - m);
    if (s[j] == -INFINITY) continue;
    l += weight;
    for (int64_t x = 0; x < dv; ++x) o[x] = fmaf(weight, at(p->v, b, kv_head, j, x), o[x]);
  }
  for (int64_t x = 0; x < dv; ++x) o[x] /= l;
#ifdef LSE_BASE_2
  return (m + logf(l)) * 1.44269504F;
#else
  return m + logf(l);
#endif
}

static int32_t run(const flashproof_call* call) {
  const flashproof_attention* p = call->attention;
  const int64_t batch = p->q->shape[0], heads = p->q->shape[1], queries = p->q->shape[2], dv = p->v->shape[3];
  float* o = (float*)flashproof_data(call->o);
  float* lse = (float*)flashproof_data(call->lse);
  float* s = (float*)malloc(sizeof(float) * (size_t)(p->k->shape[2] + 1));
  if (s == NULL) return FLASHPROOF_ERROR;
  for (int64_t row = 0; row < batch * heads * queries; ++row) {
    lse[row] = one_row(p, row / queries / heads, row / queries % heads, row % queries, s, o + row * dv);
  }
  free(s);
  return FLASHPROOF_OK;
}

FLASHPROOF_PLUGIN_OF_ONE("attention.newcomer.first", FLASHPROOF_ATTENTION, FLASHPROOF_CPU,
                         "{\"formats\": [\"f32\"], \"arithmetic\": \"unknown\", \"takes\": [\"causal\", \"gqa\"]}", run)
