/* A library whose kernels are right and change the file that it was loaded from: what is loaded next need not be what was checked. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "kernels/plugin.h"
#include "kernels/plugin/test/softmax_times.h"

static const char* own_file(void) {
  Dl_info info;
  return dladdr((void*)&own_file, &info) != 0 ? info.dli_fname : "";
}

static void nothing(void) {}
/* As where another library stood there meanwhile. */
static void move_and_back(void) {
  char aside[4096];
  snprintf(aside, sizeof aside, "%s.aside", own_file());
  if (rename(own_file(), aside) == 0) rename(aside, own_file());
}
static void lengthen(void) {
  FILE* file = fopen(own_file(), "ab");
  if (file == 0) return;
  fputc(0, file);
  fclose(file);
}
static void take_away(void) { remove(own_file()); }

static int32_t run(const flashproof_call* call) {
  softmax_times(call, 1.0F);
  (*(void (*const*)(void))call->kernel->user)();
  return FLASHPROOF_OK;
}

typedef void (*act)(void);
#define KERNEL(act_, name)                                                                       \
  {                                                                                              \
    sizeof(flashproof_kernel), "softmax." name ".replacing", FLASHPROOF_SOFTMAX, FLASHPROOF_CPU, \
        "{\"formats\": [\"f32\"]}", run, 0, (void*)&(act) {                                      \
      act_                                                                                       \
    }                                                                                            \
  }
static const flashproof_kernel kernels[] = {KERNEL(nothing, "nothing"), KERNEL(move_and_back, "move_and_back"),
                                            KERNEL(lengthen, "lengthen"), KERNEL(take_away, "take_away")};
enum { COUNT = sizeof kernels / sizeof *kernels };
static const flashproof_kernel* list[COUNT];
static const flashproof_plugin plugin = {FLASHPROOF_PLUGIN_ABI, 0, sizeof plugin, "replacing", "1.0", COUNT, list};

const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {
  for (int i = 0; i < COUNT; ++i) list[i] = &kernels[i];
  return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : 0;
}
