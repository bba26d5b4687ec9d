/* The ends that the tests' plugins have in common. */
#include "kernels/plugin.h"

/* A kernel of softmax on f32 whose `user` is the function to call: what its run() does beside its work. */
typedef void (*act)(void);
#define ACTING_KERNEL(act_, id, workspace)                                                                         \
  {                                                                                                                \
    sizeof(flashproof_kernel), id, FLASHPROOF_SOFTMAX, FLASHPROOF_CPU, "{\"formats\": [\"f32\"]}", run, workspace, \
        (void*)&(act) {                                                                                            \
      act_                                                                                                         \
    }                                                                                                              \
  }

/* The plugin of `kernels`, an array. */
#define PLUGIN(name, version, kernels)                                                                             \
  enum { KERNELS = sizeof kernels / sizeof *kernels };                                                             \
  static const flashproof_kernel* list[KERNELS];                                                                   \
  static const flashproof_plugin plugin = {FLASHPROOF_PLUGIN_ABI, 0, sizeof plugin, name, version, KERNELS, list}; \
  const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {                                                 \
    for (int i = 0; i < KERNELS; ++i) list[i] = &kernels[i];                                                       \
    return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : 0;                                                             \
  }
