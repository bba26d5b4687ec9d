/* A library whose kernels change the file that it was loaded from: what is loaded next need not be what was checked. All but one are right. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/plugin/test/plugin_parts.h"
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
/* Of a symbolic link. As where it led elsewhere meanwhile. */
static void link_again(void) {
  char target[4096];
  const ssize_t length = readlink(own_file(), target, sizeof target - 1);
  if (length < 0) return;
  target[length] = 0;
  if (unlink(own_file()) != 0 || symlink(target, own_file()) != 0) remove(own_file());
}

static int32_t run(const flashproof_call* call) {
  softmax_times(call, strstr(call->kernel->id, "wrong") != 0 ? 1.5F : 1.0F);
  (*(void (*const*)(void))call->kernel->user)();
  return FLASHPROOF_OK;
}

#define KERNEL(act_, name) ACTING_KERNEL(act_, "softmax." name ".replacing", 0)
static const flashproof_kernel kernels[] = {KERNEL(nothing, "nothing"),       KERNEL(move_and_back, "move_and_back"),
                                            KERNEL(lengthen, "lengthen"),     KERNEL(take_away, "take_away"),
                                            KERNEL(link_again, "link_again"), KERNEL(lengthen, "wrong")};
PLUGIN("replacing", "1.0", kernels)
