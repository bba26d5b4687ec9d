/* A plugin for the tests: kernels that are right by other semantics than the reference's, and wrong ones beside them. None of them
 * declares any: the tests do. f32, sums in double. */
#include <math.h>
#include <stdlib.h>

#include "kernels/plugin/test/plugin_parts.h"

enum Empty { ZERO, NOT_A_NUMBER, MEAN, SOMETHING };

struct terms {
  enum Empty empty_o;
  double empty_lse, nan_lse, inf_lse;
  int base_2, top_left, nan_o_lost, inf_is_empty;
  enum { RIGHT, DROPS_LAST, NO_MAXIMUM, HALF_WEIGHTS, COPIES } fault;
};

static const double kLn2 = 0.69314718055994530942;

static double number(const flashproof_tensor* t, int64_t offset) { return ((const float*)flashproof_data(t))[offset]; }
static int64_t at(const flashproof_tensor* t, int64_t a, int64_t b, int64_t c, int64_t d) {
  return a * t->strides[0] + b * t->strides[1] + c * t->strides[2] + d * t->strides[3];
}
static int integer(const flashproof_tensor* t, int64_t i) { return ((const int32_t*)flashproof_data(t))[i]; }

/* n weighted values of `width` columns: score[j], hidden where it is -inf; value(j, c) by a table. `stored` values of a row that
 * sees none begin at value, too. */
static void row(const struct terms* s, int64_t n, const double* score, const double* value, int64_t width, float* o,
                float* lse) {
  double most = -INFINITY, sum = 0;
  int nan = 0, infinite = 0;
  for (int64_t j = 0; j < n; ++j) {
    nan |= isnan(score[j]);
    infinite |= score[j] == INFINITY;
    if (score[j] > most) most = score[j];
  }
  for (int64_t j = 0; j < n; ++j) sum += score[j] == -INFINITY ? 0 : exp(score[j] - most);
  for (int64_t c = 0; c < width; ++c) {
    double total = 0, mean = 0;
    for (int64_t j = 0; j < n; ++j) {
      double weight = score[j] == -INFINITY ? 0 : exp(score[j] - most);
      if (s->fault == HALF_WEIGHTS) weight = ldexp(rint(ldexp(weight, 1)), -1);
      if (score[j] != -INFINITY) total += weight * value[j * width + c];
      mean += value[j * width + c] / (double)n;
    }
    const double empty[] = {0, NAN, mean, 7};
    o[c] = (float)(most == -INFINITY && !nan ? empty[s->empty_o] : nan || infinite ? NAN : total / sum);
    if (s->nan_o_lost && isnan(o[c])) o[c] = 3;
  }
  const double natural = nan ? s->nan_lse : infinite ? s->inf_lse : most == -INFINITY ? s->empty_lse : most + log(sum);
  *lse = (float)(s->base_2 && isfinite(natural) ? natural / kLn2 : natural);
}

static int32_t attention(const flashproof_call* call) {
  const struct terms* s = call->kernel->user;
  const flashproof_attention* a = call->attention;
  const int64_t sq = a->q->shape[2], sk = a->k->shape[2], dv = a->v->shape[3], group = a->q->shape[1] / a->k->shape[1];
  double* score = malloc(sizeof(double) * (size_t)(sk * (1 + dv) + 1));
  double* value = score + sk;
  for (int64_t b = 0; b < a->q->shape[0]; ++b) {
    for (int64_t h = 0; h < a->q->shape[1]; ++h) {
      for (int64_t i = 0; i < sq; ++i) {
        const int64_t out = (b * a->q->shape[1] + h) * sq + i, diagonal = s->top_left ? i : i + sk - sq;
        int64_t keys = a->key_length ? integer(a->key_length, b) : sk;
        if (s->fault == DROPS_LAST && keys > 1) --keys;
        for (int64_t j = 0; j < sk; ++j) {
          int hidden = j >= keys || (a->causal && j > diagonal) ||
                       (a->window_left >= 0 && j < diagonal - a->window_left) ||
                       (a->window_right >= 0 && j > diagonal + a->window_right);
          const double bias = a->bias ? number(a->bias, at(a->bias, b, h, i, j)) : 0;
          hidden |= bias == -INFINITY;
          double dot = 0;
          for (int64_t c = 0; c < a->q->shape[3] && !hidden; ++c)
            dot += number(a->q, at(a->q, b, h, i, c)) * number(a->k, at(a->k, b, h / group, j, c));
          score[j] = hidden ? -INFINITY : (double)a->scale * dot + bias;
          for (int64_t c = 0; c < dv; ++c) value[j * dv + c] = number(a->v, at(a->v, b, h / group, j, c));
        }
        row(s, sk, score, value, dv, (float*)flashproof_data(call->o) + out * dv,
            (float*)flashproof_data(call->lse) + out);
      }
    }
  }
  free(score);
  return FLASHPROOF_OK;
}

static int32_t merge(const flashproof_call* call) {
  const struct terms* s = call->kernel->user;
  const flashproof_merge* m = call->merge;
  const int64_t n = m->o->shape[0], dv = m->o->shape[2];
  double* score = malloc(sizeof(double) * (size_t)(n * (1 + dv)));
  double* value = score + n;
  for (int64_t r = 0; r < m->o->shape[1]; ++r) {
    for (int64_t j = 0; j < n; ++j) {
      score[j] = number(m->lse, j * m->lse->strides[0] + r * m->lse->strides[1]);
      if (s->inf_is_empty && score[j] == INFINITY) score[j] = -INFINITY;
      if (s->base_2) score[j] *= kLn2;
      for (int64_t c = 0; c < dv; ++c)
        value[j * dv + c] = number(m->o, j * m->o->strides[0] + r * m->o->strides[1] + c * m->o->strides[2]);
    }
    row(s, s->fault == DROPS_LAST && n > 1 ? n - 1 : n, score, value, dv, (float*)flashproof_data(call->o) + r * dv,
        (float*)flashproof_data(call->lse) + r);
  }
  free(score);
  return FLASHPROOF_OK;
}

#define USUAL .empty_lse = -INFINITY, .nan_lse = NAN, .inf_lse = NAN
static const struct terms
    reference = {USUAL},
    nan_rows = {.empty_o = NOT_A_NUMBER, USUAL}, mean_rows = {.empty_o = MEAN, USUAL},
    any_rows = {.empty_o = SOMETHING, .empty_lse = -5e4, .nan_lse = NAN, .inf_lse = NAN}, base_2 = {USUAL, .base_2 = 1},
    top_left = {USUAL, .top_left = 1}, laundering = {USUAL, .nan_o_lost = 1}, drops_last = {USUAL, .fault = DROPS_LAST},
    half = {USUAL, .fault = HALF_WEIGHTS}, torch = {.empty_lse = NAN, .nan_lse = NAN, .inf_lse = NAN, .top_left = 1},
    flash_2 = {.empty_lse = INFINITY, .nan_lse = INFINITY, .inf_lse = INFINITY},
    flash_3 = {.empty_lse = -INFINITY, .nan_lse = -INFINITY, .inf_lse = -INFINITY},
    cudnn = {.empty_o = SOMETHING, .empty_lse = 1, .nan_lse = NAN, .inf_lse = NAN, .top_left = 1},
    triton = {USUAL, .base_2 = 1, .top_left = 1},
    jax = {.empty_o = MEAN, .empty_lse = -1e38, .nan_lse = NAN, .inf_lse = NAN, .top_left = 1},
    merge_inf = {.empty_o = NOT_A_NUMBER, .empty_lse = NAN, .nan_lse = NAN, .inf_lse = NAN, .inf_is_empty = 1},
    merge_base_2 = {.empty_o = NOT_A_NUMBER, .empty_lse = NAN, .nan_lse = NAN, .inf_lse = NAN, .base_2 = 1};

#define ATTENTION(name)                                                                                 \
  {sizeof(flashproof_kernel),                                                                           \
   "attention." #name ".semantics",                                                                     \
   FLASHPROOF_ATTENTION,                                                                                \
   FLASHPROOF_CPU,                                                                                      \
   "{\"formats\": [\"f32\"], \"strides\": \"any\", \"deterministic\": true, \"isolates_hidden\": true," \
   " \"takes\": [\"causal\", \"key_length\", \"bias\", \"gqa\", \"window\"]}",                          \
   attention,                                                                                           \
   0,                                                                                                   \
   (void*)&name}
#define MERGE(id, name)                                                                               \
  {sizeof(flashproof_kernel),                                                                         \
   "merge." #id ".semantics",                                                                         \
   FLASHPROOF_MERGE,                                                                                  \
   FLASHPROOF_CPU,                                                                                    \
   "{\"formats\": [\"f32\"], \"strides\": \"any\", \"deterministic\": true, \"takes\": [\"order\"]}", \
   merge,                                                                                             \
   0,                                                                                                 \
   (void*)&name}
static const flashproof_kernel kernels[] = {ATTENTION(reference),
                                            ATTENTION(nan_rows),
                                            ATTENTION(mean_rows),
                                            ATTENTION(any_rows),
                                            ATTENTION(base_2),
                                            ATTENTION(top_left),
                                            ATTENTION(laundering),
                                            ATTENTION(drops_last),
                                            ATTENTION(half),
                                            ATTENTION(torch),
                                            ATTENTION(flash_2),
                                            ATTENTION(flash_3),
                                            ATTENTION(cudnn),
                                            ATTENTION(triton),
                                            ATTENTION(jax),
                                            MERGE(reference, reference),
                                            MERGE(vllm, merge_inf),
                                            MERGE(flashinfer, merge_base_2),
                                            MERGE(drops_last, drops_last)};
PLUGIN("semantics", "1.0", kernels)
