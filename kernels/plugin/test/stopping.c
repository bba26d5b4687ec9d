/* A library whose kernels are wrong and stop or end the process that counts verdicts, which is the parent of the judge. Built with SIGNAL_ON_LOAD it sends that
 * signal before it is asked anything, when its parent is that process itself. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/plugin/test/plugin_parts.h"
#include "kernels/plugin/test/softmax_times.h"

static pid_t parent_of(pid_t pid) {
  char name[64], text[1024] = {0};
  int parent = 0;
  snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(name, "r");
  if (file == 0) return 0;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  const char* rest = strrchr(text, ')');
  if (size == 0 || rest == 0 || sscanf(rest, ") %*c %d", &parent) != 1) return 0;
  return parent;
}
/* 0 or less would be a group, or everything. */
static void send_to(pid_t pid, int signal) {
  if (pid > 1) kill(pid, signal);
}
static pid_t counter(void) { return parent_of(getppid()); }

static void stop_counter(void) { send_to(counter(), SIGSTOP); }
static void stop_counter_and_judge(void) {
  stop_counter();
  send_to(getppid(), SIGSTOP);
}
static void stop_group(void) {
  const pid_t group = getpgid(counter());
  if (group > 1) kill(-group, SIGSTOP);
}
static void stop_again_and_again(void) {
  const pid_t pid = counter();
  for (;;) {
    send_to(pid, SIGSTOP);
    usleep(100);
  }
}
static void stop_as_terminal_would(void) { send_to(counter(), SIGTSTP); }
static void kill_counter(void) { send_to(counter(), SIGKILL); }
/* What Ctrl-Z does: to the group of the command. */
static void suspend(void) {
  const pid_t group = getpgid(parent_of(counter()));
  if (group > 1) kill(-group, SIGTSTP);
  usleep(200000);
}

static int32_t run(const flashproof_call* call) {
  void (*const act)(void) = *(void (*const*)(void))call->kernel->user;
  softmax_times(call, act == suspend ? 1.0F : 1.001F);
  act();
  return FLASHPROOF_OK;
}

#define KERNEL(act_, name) ACTING_KERNEL(act_, "softmax." name ".stopping", 0)
static const flashproof_kernel kernels[] = {
    KERNEL(stop_counter, "counter"),
    KERNEL(stop_counter_and_judge, "both"),
    KERNEL(stop_group, "group"),
    KERNEL(stop_again_and_again, "again_and_again"),
    KERNEL(stop_as_terminal_would, "as_terminal"),
    KERNEL(kill_counter, "kill"),
    KERNEL(suspend, "suspend"),
};
enum { COUNT = sizeof kernels / sizeof *kernels };
static const flashproof_kernel* list[COUNT];
static const flashproof_plugin plugin = {FLASHPROOF_PLUGIN_ABI, 0, sizeof plugin, "stopping", "1.0", COUNT, list};

const flashproof_plugin* flashproof_plugin_entry(uint32_t abi) {
  for (int i = 0; i < COUNT; ++i) list[i] = &kernels[i];
#ifdef SIGNAL_ON_LOAD
  send_to(getppid(), SIGNAL_ON_LOAD);
#endif
  return abi == FLASHPROOF_PLUGIN_ABI ? &plugin : 0;
}
