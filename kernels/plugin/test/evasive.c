/* A plugin for the tests: kernels that are right where a lenient judge looks, and wrong, silent or slow elsewhere; beside each kind
 * one that is honest. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kernels/plugin/test/plugin_parts.h"

enum Way {
  RIGHT,
  /* Pointers of less alignment than they get. */
  ROUNDS_INPUT,
  ROUNDS_OUTPUT,
  CRASHES_UNALIGNED,
  WRONG_ALIGNED,
  /* What is declared and not done. */
  IGNORES_LENGTH,
  IGNORES_STRIDES,
  /* What one kind of call alone shows. */
  KEEPS_LENGTHS,   /* by the shape */
  ADDS_TO_OUTPUT,  /* where that is a number */
  SHARED_ROW_ONCE, /* of a row stride of 0 the first row alone is right */
  ONE_NAN,         /* one with a sign hides its column */
  OTHER_BITS,      /* in every second call */
  /* UNSUPPORTED in place of a wrong answer. */
  REFUSES_HARD,
  REFUSES_BUT_MIDDLING, /* rows of neither large nor small numbers are taken */
  REFUSES_STUBBORNLY, /* and what follows, for as long as it has the same shape */
  REFUSES_AT_RANDOM,
  REFUSES_LATER,
  REFUSES_AGAIN,
  REFUSES_UNALIGNED,
  REFUSES_MOST,
  REFUSES_LARGE, /* honest: by the shape, and seldom */
  REFUSES_LENGTH,
  /* Time. */
  SLOW, /* honest: half a second of work */
  SLOW_THREAD,
  SPINS,
  SLEEPS
};

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static void work(double seconds) {
  const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}
static void* work_in_thread(void* nothing) {
  work(0.5);
  return nothing;
}

static int refuses(const flashproof_call* call, enum Way way) {
  static unsigned calls = 0;
  static int64_t last[2] = {-1, -1};
  static int refused = 0;
  const flashproof_tensor* x = call->softmax->x;
  const float* in = flashproof_data(x);
  const int again = x->shape[0] == last[0] && x->shape[1] == last[1];
  last[0] = x->shape[0], last[1] = x->shape[1];
  ++calls;
  switch (way) {
    case REFUSES_STUBBORNLY:
      refused = again && refused;
      for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) refused = refused || (in[i] > 75.0F && isfinite(in[i]));
      return refused;
    case REFUSES_HARD:
      for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
        if (!(fabsf(in[i]) < 80.0F)) return 1;
      }
      return 0;
    case REFUSES_BUT_MIDDLING: {
      float most = 0;
      for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) most = fmaxf(most, fabsf(in[i]));
      return !(most > 1.0F && most < 80.0F);
    }
    case REFUSES_AT_RANDOM:
      return (calls * 2654435761U >> 8) % 3 == 0;
    case REFUSES_LATER:
      return calls > 3;
    case REFUSES_AGAIN:
      return again;
    case REFUSES_UNALIGNED:
      return (uintptr_t)in % 16 != 0;
    case REFUSES_MOST:
      return x->shape[1] % 4 != 1;
    case REFUSES_LARGE:
      return x->shape[0] * x->shape[1] > 3000;
    case REFUSES_LENGTH:
      return call->softmax->row_length != 0;
    default:
      return 0;
  }
}

/* `step`: from one column to the next. */
static float softmax_of(const float* x, int64_t step, int64_t length, int64_t cols, float* o) {
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < length; ++j) {
    if (x[j * step] > max || isnan(x[j * step])) max = x[j * step];
    if (isnan(max)) break;
  }
  for (int64_t j = 0; j < cols; ++j) o[j] = 0;
  if (max == -INFINITY) return max;
  for (int64_t j = 0; j < length; ++j) sum += o[j] = expf(x[j * step] - max);
  for (int64_t j = 0; j < length; ++j) o[j] /= sum;
  return max + logf(sum);
}

static int signed_nan_among(const float* x, int64_t length) {
  for (int64_t j = 0; j < length; ++j) {
    if (isnan(x[j]) && signbit(x[j])) return 1;
  }
  return 0;
}

/* Those that the shape had when it came first in a row. */
static const int32_t* kept_lengths(const flashproof_tensor* x, const int32_t* given) {
  static int64_t shape[2] = {-1, -1};
  static int32_t kept[4096];
  if (!given || x->shape[0] > 4096) return given;
  for (int64_t r = 0; r < x->shape[0] && (x->shape[0] != shape[0] || x->shape[1] != shape[1]); ++r) kept[r] = given[r];
  shape[0] = x->shape[0], shape[1] = x->shape[1];
  return kept;
}

static float* rounded_down(float* pointer) { return (float*)((uintptr_t)pointer & ~(uintptr_t)15); }

static int32_t run(const flashproof_call* call) {
  const enum Way way = (enum Way)(intptr_t)call->kernel->user;
  const flashproof_tensor* x = call->softmax->x;
  const int32_t* row_length = flashproof_data(call->softmax->row_length);
  const int64_t rows = x->shape[0], cols = x->shape[1];
  const float* in = flashproof_data(x);
  float *o = flashproof_data(call->o), *lse = flashproof_data(call->lse);
  if (way == KEEPS_LENGTHS) row_length = kept_lengths(x, row_length);
  if (refuses(call, way)) {
    /* One of them in the words that a run has for what it does not ask any more. */
    snprintf(call->error, call->error_size, way == REFUSES_MOST ? "not asked: not this one" : "not this one");
    return FLASHPROOF_UNSUPPORTED;
  }
  if (way == ROUNDS_INPUT) in = rounded_down((float*)in);
  if (way == ROUNDS_OUTPUT) o = rounded_down(o);
  if (way == CRASHES_UNALIGNED && (uintptr_t)in % 16 != 0) __builtin_trap(); /* what movaps does */
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t length = row_length && way != IGNORES_LENGTH ? row_length[r] : cols;
    const int dense = way == IGNORES_STRIDES;
    const float before = lse[r];
    lse[r] = softmax_of(in + r * (dense ? cols : x->strides[0]), dense ? 1 : x->strides[1], length, cols, o + r * cols);
    if (way == ADDS_TO_OUTPUT && !isnan(before)) lse[r] += before + 1.0F;
    if (way == SHARED_ROW_ONCE && x->strides[0] == 0 && r > 0) lse[r] += 1.0F;
    if (way == ONE_NAN && signed_nan_among(in + r * x->strides[0], length)) lse[r] = 0.0F;
  }
  static unsigned calls = 0;
  if (way == OTHER_BITS && ++calls % 2 == 0 && rows > 0) lse[0] = nextafterf(lse[0], INFINITY);
  if (way == WRONG_ALIGNED && (uintptr_t)in % 16 == 0 && rows > 0) lse[rows - 1] += 1.0F;
  pthread_t thread;
  switch (way) {
    case SLOW:
      work(0.5);
      break;
    case SLOW_THREAD:
      if (pthread_create(&thread, 0, work_in_thread, 0) == 0) pthread_join(thread, 0);
      break;
    case SPINS:
      for (;;) work(1);
    case SLEEPS:
      for (;;) pause();
    default:
      break;
  }
  return FLASHPROOF_OK;
}

#define KERNEL(way, name, more)        \
  {sizeof(flashproof_kernel),          \
   "softmax." name ".evasive",         \
   FLASHPROOF_SOFTMAX,                 \
   FLASHPROOF_CPU,                     \
   "{\"formats\": [\"f32\"]" more "}", \
   run,                                \
   0,                                  \
   (void*)(intptr_t)(way)}
#define LENGTHS ", \"takes\": [\"row_length\"]"
#define DETERMINISTIC ", \"deterministic\": true"
static const flashproof_kernel kernels[] = {
    KERNEL(RIGHT, "right", LENGTHS ", \"strides\": \"any\", \"deterministic\": true"),
    KERNEL(ROUNDS_INPUT, "rounds_input", ""),
    KERNEL(ROUNDS_INPUT, "says_alignment", ", \"alignment\": 16"),
    KERNEL(ROUNDS_OUTPUT, "rounds_output", ""),
    KERNEL(CRASHES_UNALIGNED, "crashes_unaligned", ""),
    KERNEL(WRONG_ALIGNED, "wrong_aligned", ""),
    KERNEL(IGNORES_LENGTH, "ignores_length", LENGTHS),
    KERNEL(IGNORES_STRIDES, "ignores_strides", ", \"strides\": \"any\""),
    KERNEL(KEEPS_LENGTHS, "keeps_lengths", LENGTHS DETERMINISTIC),
    KERNEL(ADDS_TO_OUTPUT, "adds_undeclared", ""),
    KERNEL(ADDS_TO_OUTPUT, "adds_to_output", DETERMINISTIC),
    KERNEL(SHARED_ROW_ONCE, "shared_row_once", ", \"strides\": \"rows\"" DETERMINISTIC),
    KERNEL(ONE_NAN, "one_nan", DETERMINISTIC),
    KERNEL(OTHER_BITS, "other_bits_of_many_rows",
           ", \"limits\": {\"rows\": [16385, 70000], \"cols\": [1, 8]}" DETERMINISTIC),
    KERNEL(REFUSES_HARD, "refuses_hard", ""),
    KERNEL(REFUSES_BUT_MIDDLING, "refuses_but_middling", ""),
    KERNEL(REFUSES_STUBBORNLY, "refuses_stubbornly", ""),
    KERNEL(REFUSES_AT_RANDOM, "refuses_at_random", ""),
    KERNEL(REFUSES_LATER, "refuses_later", ""),
    KERNEL(REFUSES_AGAIN, "refuses_again", ""),
    KERNEL(REFUSES_UNALIGNED, "refuses_unaligned", ""),
    KERNEL(REFUSES_MOST, "refuses_most", ""),
    KERNEL(REFUSES_LARGE, "refuses_large", ""),
    KERNEL(REFUSES_LENGTH, "refuses_length", LENGTHS),
    KERNEL(SLOW, "slow", ""),
    KERNEL(SLOW_THREAD, "slow_thread", ""),
    KERNEL(SPINS, "spins", ""),
    KERNEL(SLEEPS, "sleeps", "")};
PLUGIN("evasive", "1.0", kernels)
