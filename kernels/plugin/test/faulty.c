/* A plugin for the tests: one right kernel, and one for every way to break the rules while it runs. Built once more for each way
 * to break them while it is loaded: -DLOAD_FAULT=..., and with -DON_DEVICE for a pretended GPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "kernels/plugin.h"

enum Fault {
  RIGHT,
  CRASH,
  HANG,
  LEAVE,
  BEFORE,
  AFTER,
  AFTER_LSE,
  FAR,
  INPUT,
  BESIDE_INPUT,
  BESIDE_WORKSPACE,
  RETURN_ERROR,
  RETURN_17,
  REFUSE,
  NEGATIVE_WORKSPACE,
  ABSURD_WORKSPACE,
  LARGE_WORKSPACE,
  BESIDE_LARGE_WORKSPACE,
  FROM_LARGE_WORKSPACE,
  FROM_PART_OF_LARGE_WORKSPACE,
  UNWRITTEN,
  WRONG,
  UNSTEADY,
  FROM_WORKSPACE,
  LEAK,
  FLUSHED,
  ROUNDING,
  LONG_MESSAGE,
  WANDERS,
  FAULTS
};

static float row(enum Fault fault, const float* x, int64_t step, int64_t length, int64_t cols, float* o) {
  float max = -INFINITY, sum = 0;
  for (int64_t j = 0; j < length; ++j) {
    if (x[j * step] > max || isnan(x[j * step])) max = x[j * step];
    if (isnan(max)) break;
  }
  for (int64_t j = 0; j < cols; ++j) o[j] = fault == LEAK ? 0.0F * x[j * step] : 0.0F;
  if (max == -INFINITY) return max;
  for (int64_t j = 0; j < length; ++j) sum += o[j] = expf(x[j * step] - max);
  for (int64_t j = 0; j < length; ++j) o[j] /= sum;
  return max + logf(sum);
}

static int32_t run(const flashproof_call* call) {
  static unsigned calls = 0;
  static volatile int nothing = 0;
  const enum Fault fault = (enum Fault)(intptr_t)call->kernel->user;
  const flashproof_tensor* x = call->softmax->x;
  const int32_t* row_length = flashproof_data(call->softmax->row_length);
  const int64_t rows = x->shape[0], cols = x->shape[1];
  float* in = flashproof_data(x);
  float* o = flashproof_data(call->o);
  float* lse = flashproof_data(call->lse);
  char* workspace = call->workspace;
  ++calls;
  for (int64_t r = 0; r < rows; ++r) {
    lse[r] = row(fault, in + r * x->strides[0], x->strides[1], row_length ? row_length[r] : cols, cols, o + r * cols);
  }
  switch (fault) {
    case CRASH:
      *(volatile int*)(intptr_t)nothing = 1;
      break;
    case HANG:
      while (nothing == 0) usleep(1000);
      break;
    case LEAVE:
      exit(0);
    case BEFORE:
      o[-1] = 0;
      break;
    case AFTER:
      o[rows * cols] = 0;
      break;
    case AFTER_LSE:
      lse[rows] = 0;
      break;
    case FAR:
      ((volatile char*)lse)[1 << 23] = 0;
      break;
    case INPUT:
      if (rows * cols > 0) in[0] = 12345.0F;
      break;
    case BESIDE_INPUT:
      in[-1] = 0;
      break;
    case BESIDE_WORKSPACE:
    case BESIDE_LARGE_WORKSPACE:
      workspace[call->workspace_bytes] = 0;
      break;
    case RETURN_ERROR:
      snprintf(call->error, call->error_size, "out of\nluck");
      return FLASHPROOF_ERROR;
    case RETURN_17:
      return 17;
    case REFUSE:
      snprintf(call->error, call->error_size, "cols: not today");
      return FLASHPROOF_UNSUPPORTED;
    case UNWRITTEN:
      if (rows * cols > 0) ((uint32_t*)o)[rows * cols - 1] = 0x7fedbeef;
      break;
    case LONG_MESSAGE:
      for (uint64_t i = 0; i < call->error_size + 8; ++i) call->error[i] = 'x';
      return FLASHPROOF_ERROR;
    case WANDERS:
      if (chdir("/") != 0) return FLASHPROOF_ERROR;
      for (int64_t i = 0; i < rows * cols; ++i) o[i] *= 1.001F;
      break;
    case WRONG:
      for (int64_t i = 0; i < rows * cols; ++i) o[i] *= 1.001F;
      break;
    case UNSTEADY:
      if (rows * cols > 0 && calls % 2 == 0) o[0] = nextafterf(o[0], 1);
      break;
    case FROM_WORKSPACE:
      if (rows * cols > 0 && workspace[3] == 0) o[0] = nextafterf(o[0], 1);
      break;
    case LARGE_WORKSPACE:
      workspace[0] = workspace[call->workspace_bytes / 4] = workspace[call->workspace_bytes - 1] = 1;
      break;
    case FROM_LARGE_WORKSPACE: /* an array in the middle, taken to be zero */
      for (int64_t i = 0; i < 1 << 21; ++i) {
        if (workspace[call->workspace_bytes / 2 + i] != 0) o[0] = nextafterf(o[0], 1);
      }
      break;
    case FROM_PART_OF_LARGE_WORKSPACE: /* one that is a quarter of a step */
      for (int64_t i = 0; i < 1 << 18; ++i) {
        if (workspace[call->workspace_bytes / 2 + i] != 0) o[0] = nextafterf(o[0], 1);
      }
      break;
    case FLUSHED:
      _mm_setcsr(_mm_getcsr() | 0x8040);
      break; /* FTZ and DAZ, left on */
    case ROUNDING:
      _mm_setcsr((_mm_getcsr() & ~0x6000U) | 0x4000);
      break; /* up, left on */
    default:
      break;
  }
  return FLASHPROOF_OK;
}

static int64_t workspace_bytes(const flashproof_call* call) {
  const int64_t most = (int64_t)1 << 32;
  switch ((enum Fault)(intptr_t)call->kernel->user) {
    case NEGATIVE_WORKSPACE:
      return -1;
    case ABSURD_WORKSPACE:
      return most + 1;
    case LARGE_WORKSPACE:
    case BESIDE_LARGE_WORKSPACE:
    case FROM_LARGE_WORKSPACE:
    case FROM_PART_OF_LARGE_WORKSPACE:
      return most - 3;
    default:
      return 64;
  }
}

#ifdef ON_DEVICE
#define DEVICE FLASHPROOF_CUDA
#else
#define DEVICE FLASHPROOF_CPU
#endif
#define DESCRIPTION                                                                                      \
  "{\"formats\": [\"f32\"], \"takes\": [\"row_length\"], \"strides\": \"any\", \"deterministic\": true," \
  " \"isolates_hidden\": true}"
#define KERNEL(fault, name)                                                                          \
  {sizeof(flashproof_kernel), "softmax." name ".test", FLASHPROOF_SOFTMAX, DEVICE, DESCRIPTION, run, \
   workspace_bytes,           (void*)(intptr_t)(fault)}
static flashproof_kernel kernels[FAULTS] = {KERNEL(RIGHT, "right"),
                                            KERNEL(CRASH, "crash"),
                                            KERNEL(HANG, "hang"),
                                            KERNEL(LEAVE, "leave"),
                                            KERNEL(BEFORE, "before"),
                                            KERNEL(AFTER, "after"),
                                            KERNEL(AFTER_LSE, "after_lse"),
                                            KERNEL(FAR, "far"),
                                            KERNEL(INPUT, "input"),
                                            KERNEL(BESIDE_INPUT, "beside_input"),
                                            KERNEL(BESIDE_WORKSPACE, "beside_workspace"),
                                            KERNEL(RETURN_ERROR, "return_error"),
                                            KERNEL(RETURN_17, "return_17"),
                                            KERNEL(REFUSE, "refuse"),
                                            KERNEL(NEGATIVE_WORKSPACE, "negative_workspace"),
                                            KERNEL(ABSURD_WORKSPACE, "absurd_workspace"),
                                            KERNEL(LARGE_WORKSPACE, "large_workspace"),
                                            KERNEL(BESIDE_LARGE_WORKSPACE, "beside_large_workspace"),
                                            KERNEL(FROM_LARGE_WORKSPACE, "from_large_workspace"),
                                            KERNEL(FROM_PART_OF_LARGE_WORKSPACE, "from_part_of_large_workspace"),
                                            KERNEL(UNWRITTEN, "unwritten"),
                                            KERNEL(WRONG, "wrong"),
                                            KERNEL(UNSTEADY, "unsteady"),
                                            KERNEL(FROM_WORKSPACE, "from_workspace"),
                                            KERNEL(LEAK, "leak"),
                                            KERNEL(FLUSHED, "flushed"),
                                            KERNEL(ROUNDING, "rounding"),
                                            KERNEL(LONG_MESSAGE, "long_message"),
                                            KERNEL(WANDERS, "wanders")};
static const flashproof_kernel* list[FAULTS];
static flashproof_plugin plugin = {FLASHPROOF_PLUGIN_ABI, 0, sizeof plugin, "faulty", "1.0", FAULTS, list};

/* Load faults, by number. */
enum {
  ABI = 1,
  SHORT_STRUCT,
  NO_KERNELS,
  NULL_KERNEL,
  NULL_RUN,
  TWICE,
  BAD_JSON,
  BAD_FIELD,
  BAD_ID,
  BAD_PROBLEM,
  NULL_ENTRY,
  CRASH_AT_LOAD,
  HANG_AT_LOAD,
  EXIT_AT_LOAD,
  FAST_MATH,
  RESERVED,
  CLOSE_AND_HANG,
  LEAVE_A_CHILD
};
#ifndef LOAD_FAULT
#define LOAD_FAULT 0
#endif

__attribute__((constructor)) static void loaded(void) {
  if (LOAD_FAULT == CRASH_AT_LOAD) abort();
  if (LOAD_FAULT == HANG_AT_LOAD) pause();
  if (LOAD_FAULT == EXIT_AT_LOAD) _exit(0);
  if (LOAD_FAULT == CLOSE_AND_HANG) {
    for (int fd = 3; fd < 100; ++fd) close(fd);
    pause();
  }
  if (LOAD_FAULT == LEAVE_A_CHILD && fork() == 0) { /* it holds what its parent holds */
    for (int fd = 0; fd < 3; ++fd) close(fd);
    sleep(20);
    _exit(0);
  }
  if (LOAD_FAULT == FAST_MATH) _mm_setcsr(_mm_getcsr() | 0x8040); /* what gcc's crtfastmath.o does */
}

/* 99: the entry has another name. */
#if LOAD_FAULT == 99
#define flashproof_plugin_entry some_other_entry
FLASHPROOF_EXPORT const flashproof_plugin* some_other_entry(uint32_t abi);
#endif
const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {
  for (int i = 0; i < FAULTS; ++i) list[i] = &kernels[i];
  switch (LOAD_FAULT) {
    case ABI:
      plugin.abi_version = abi + 1;
      break;
    case RESERVED:
      plugin.reserved = 7;
      break;
    case SHORT_STRUCT:
      kernels[3].struct_size = 8;
      break;
    case NO_KERNELS:
      plugin.kernel_count = 0;
      break;
    case NULL_KERNEL:
      list[2] = 0;
      break;
    case NULL_RUN:
      kernels[1].run = 0;
      break;
    case TWICE:
      kernels[2].id = kernels[1].id;
      break;
    case BAD_JSON:
      kernels[1].description = "{\"formats\": ";
      break;
    case BAD_FIELD:
      kernels[1].description = "{\"formats\": [\"f32\"], \"takes\": [\"row_lenght\"]}";
      break;
    case BAD_ID:
      kernels[1].id = "../../softmax";
      break;
    case BAD_PROBLEM:
      kernels[1].problem = 9;
      break;
    case NULL_ENTRY:
      return 0;
    default:
      break;
  }
  return &plugin;
}
