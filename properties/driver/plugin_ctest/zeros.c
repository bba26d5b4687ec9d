/* Answers 0, which what it declares of its exponential allows for scores of a normal distribution: on the CPU (ON_CPU), for the GPU
   (ON_GPU), or both in one library. */
#include "kernels/plugin.h"

static int32_t run(const flashproof_call* call) {
  const flashproof_tensor* x = call->softmax->x;
  float* o = flashproof_data(call->o);
  float* lse = flashproof_data(call->lse);
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) o[i] = 0;
  for (int64_t r = 0; r < x->shape[0]; ++r) lse[r] = 0;
  return FLASHPROOF_OK;
}

#define KERNEL(name, device)                                                                                  \
  {.struct_size = sizeof(flashproof_kernel),                                                                  \
   .id = name,                                                                                                \
   .problem = FLASHPROOF_SOFTMAX,                                                                             \
   .device_type = device,                                                                                     \
   .description = "{\"formats\": [\"f32\"], \"arithmetic\": {\"preset\": \"unknown\", \"exp_error\": 0.02}}", \
   .run = run}
static const flashproof_kernel all[] = {
#ifdef ON_CPU
    KERNEL("softmax.zeros.cpu", FLASHPROOF_CPU),
#endif
#ifdef ON_GPU
    KERNEL("softmax.zeros.gpu", FLASHPROOF_CUDA),
#endif
};
enum { KERNELS = sizeof all / sizeof all[0] };
static const flashproof_kernel* list[KERNELS];
static const flashproof_plugin plugin = {
    .abi_version = FLASHPROOF_PLUGIN_ABI,
    .struct_size = sizeof(flashproof_plugin),
    .name = "zeros",
    .version = "1.0",
    .kernel_count = KERNELS,
    .kernels = list,
};

const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {
  for (int i = 0; i < KERNELS; ++i) list[i] = &all[i];
  return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : 0;
}
