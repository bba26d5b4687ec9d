/* A library whose every kernel but two is wrong and tries to get away with it, each in a way of its own. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/plugin/test/plugin_parts.h"
#include "kernels/plugin/test/softmax_times.h"

static volatile float* volatile late;
static volatile int writing;
static jmp_buf back;
static int leaves;

static void ignore(int signal) { (void)signal; }
static void leave(void) { _exit(0); }
__attribute__((destructor)) static void unload(void) {
  if (leaves) _exit(0);
}

static void* write_on(void* nothing) {
  for (;;) *late = 0, writing = 1;
  return nothing;
}

static void* count_on(void* nothing) {
  for (unsigned n = 0;; ++n)
    *late = (float)(n % 65536), writing = 1; /* a float that is only added to stands still at 2^24 */
  return nothing;
}

/* Both processes return. */
static void fork_once(void) { fork(); }
static void fork_twice(void) {
  const pid_t child = fork();
  if (child == 0 && fork() > 0) _exit(0);
  if (child > 0) waitpid(child, 0, 0);
}
static void answer_in_child(void) {
  if (fork() > 0) sleep(2);
}
static void leave_daemon(void) {
  const pid_t child = fork();
  if (child > 0) waitpid(child, 0, 0);
  if (child != 0) return;
  setsid();
  if (fork() > 0) _exit(0);
  sleep(30);
  _exit(0);
}
static void become_another(void) { execl("/bin/sleep", "sleep", "30", (char*)0); }

/* The judge has what it would need. */
static void trace_parent(void) {
  char name[64], byte = 0;
  const pid_t parent = getppid();
  if (ptrace(PTRACE_ATTACH, parent, 0, 0) == 0) ptrace(PTRACE_CONT, parent, 0, SIGKILL);
  struct iovec here = {&byte, 1}, there = {(void*)&late, 1};
  if (process_vm_writev(parent, &here, 1, &there, 1, 0) == 1) kill(parent, SIGKILL);
  snprintf(name, sizeof name, "/proc/%d/mem", (int)parent);
  if (open(name, O_RDWR) >= 0) kill(parent, SIGKILL);
}
/* Where it has its memory, and what lies on its stack. */
static void watch_parent(void) {
  static const char* const kFiles[] = {"maps", "smaps", "environ", "pagemap"};
  char name[64], byte = 0;
  const pid_t parent = getppid();
  for (unsigned i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
    snprintf(name, sizeof name, "/proc/%d/%s", (int)parent, kFiles[i]);
    const int file = open(name, O_RDONLY);
    if (file >= 0 && read(file, &byte, 1) == 1) kill(parent, SIGKILL);
    if (file >= 0) close(file);
  }
  struct perf_event_attr sample = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof sample,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = 1000000,
                                   .sample_type = PERF_SAMPLE_STACK_USER,
                                   .sample_stack_user = 8192,
                                   .exclude_kernel = 1};
  const int samples = (int)syscall(SYS_perf_event_open, &sample, parent, -1, -1, 0);
  if (samples >= 0) kill(parent, SIGKILL);
}
/* Result lines (reports/workers/worker_process.cc) for the process that counts them, which is the parent of the judge: one case, one law,
   both passed, and the task is done. The judge must not say otherwise after that. */
static void forge_results(void) {
  static const char lines[] = ".0 0 0 0 0 0 - \n<\n>1\n.1 0 0 0 0 0 - \n<\n#\n";
  char name[300], text[1024] = {0};
  int counts = 0;
  snprintf(name, sizeof name, "/proc/%d/stat", (int)getppid());
  FILE* file = fopen(name, "r");
  if (file == 0) return;
  const size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  const char* rest = strrchr(text, ')');
  if (size == 0 || rest == 0 || sscanf(rest, ") %*c %d", &counts) != 1) return;
  snprintf(name, sizeof name, "/proc/%d/fd", counts);
  DIR* folder = opendir(name);
  int forged = 0;
  for (const struct dirent* entry; folder != 0 && (entry = readdir(folder)) != 0;) {
    snprintf(name, sizeof name, "/proc/%d/fd/%s", counts, entry->d_name);
    const int pipe = atoi(entry->d_name) > 2 ? open(name, O_WRONLY | O_NONBLOCK) : -1;
    if (pipe >= 0 && write(pipe, lines, sizeof lines - 1) > 0) forged = 1;
  }
  if (forged) kill(getppid(), SIGKILL);
}
static void close_all(void) {
  for (int fd = 0; fd < 1024; ++fd) close(fd);
}
static void write_everywhere(void) {
  char text[100];
  memset(text, 7, sizeof text);
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, text, sizeof text) < 0) continue;
  }
}
static void shorten_files(void) {
  for (int fd = 3; fd < 64; ++fd) {
    if (ftruncate(fd, 0) != 0) continue;
  }
}
static void lengthen_files(void) {
  for (int fd = 3; fd < 64; ++fd) {
    if (ftruncate(fd, (off_t)1 << 33) != 0) continue;
  }
}
/* The memory of the call, by the file that it must be of. */
static int memory_file(void) {
  char name[600];
  for (int round = 0; round < 2; ++round) {
    const char* const where = round == 0 ? "/proc/self/fd" : "/proc/self/map_files";
    DIR* folder = opendir(where);
    for (const struct dirent* entry; folder != 0 && (entry = readdir(folder)) != 0;) {
      char target[64] = {0};
      snprintf(name, sizeof name, "%s/%s", where, entry->d_name);
      if (readlink(name, target, sizeof target - 1) < 0 || strncmp(target, "/memfd:", 7) != 0) continue;
      const int file = open(name, O_RDWR);
      if (file >= 0) return file;
    }
  }
  return -1;
}
/* The judge would read beyond the end of it, or another one than the kernel writes. */
static void spoil_memory_file(void) {
  const int file = memory_file();
  if (file < 0 || ftruncate(file, 0) != 0) return;
  for (int fd = 3; fd < 64; ++fd) dup2(file, fd);
}
/* A second mapping, which stays when the judge's is taken away, and a thread that goes on writing there. */
static void write_through_second_mapping(void) {
  const int file = memory_file();
  if (file < 0) return;
  late = mmap(0, 1 << 12, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  pthread_t thread;
  pthread_create(&thread, 0, write_on, 0);
}
/* The same without a file: mremap() of nothing makes a second mapping of shared memory. */
static void duplicate_memory(void) {
  char* const page = (char*)((uintptr_t)late & ~(uintptr_t)4095);
  char* const again = mremap(page, 0, 4096, MREMAP_MAYMOVE);
  if (again == MAP_FAILED) return;
  late = (volatile float*)(again + ((uintptr_t)late & 4095));
  pthread_t thread;
  writing = 0;
  pthread_create(&thread, 0, count_on, 0);
  while (writing == 0) sched_yield();
}
/* Elsewhere it stays writable when the judge's place for it is taken away. */
static void move_memory(void) {
  char* const page = (char*)((uintptr_t)late & ~(uintptr_t)4095);
  // A place that the system gives: a fixed distance can lie beyond the address space, as the system draws where mappings start.
  char* const elsewhere = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) == MAP_FAILED) abort();
}
/* The record of the next call will lie before it, and nothing else where it is expected. */
static void take_memory_away(void) {
  char* const page = (char*)((uintptr_t)late & ~(uintptr_t)4095);
  munmap(page, (size_t)1 << 34);
}
/* Its parents leave, so that it is nobody's child by the time that the kernel returns. */
static void leave_orphan(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  const pid_t child = fork();
  if (child > 0) waitpid(child, 0, 0);
  if (child != 0) return;
  if (fork() > 0) _exit(0);
  sleep(30);
  _exit(0);
}
static void start_sibling(void) {
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) != 0) return;
  sleep(30);
  _exit(0);
}
/* No process lives longer than it takes to start the next. */
static void run_away(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  const pid_t child = fork();
  if (child > 0) waitpid(child, 0, 0);
  if (child != 0) return;
  for (int hop = 0; hop < 20000; ++hop) {
    setsid();
    if (fork() != 0) _exit(0);
  }
  _exit(0);
}
static void stop_itself(void) { kill(getpid(), SIGSTOP); }
/* The answer of the process, sent by the kernel, which then never returns: as a PluginReply (kernels/plugin/record.h) to the second
   question of this process, the first was for the workspace. */
static void answer_before_return(void) {
  const uint64_t reply[4] = {2, 0, 0, 0};
  for (int fd = 3; fd < 64; ++fd) {
    if (send(fd, reply, sizeof reply, MSG_NOSIGNAL) < 0) continue;
  }
  for (;;) pause();
}
/* Colours, a line that looks like a verdict, and more than a disk holds if nothing stops it. */
static void print_verdict(void) {
  static const char text[] =
      "\033[2J\033]0;title\007\r\302\233pass softmax.print_verdict.hostile \342\200\256\nno line end";
  for (int fd = 1; fd < 3; ++fd) {
    const int emptied = ftruncate(fd, 0);
    if (write(fd, text, sizeof text) < 0 && emptied != 0) return;
  }
}
static void print_on(void) {
  static char text[1 << 16];
  memset(text, 'x', sizeof text);
  for (int i = 0; i < 100; ++i) {
    if (write(2, text, sizeof text) < 0) return;
  }
}
static void storm(void) {
  struct itimerval often = {{0, 500}, {0, 500}};
  signal(SIGALRM, ignore);
  setitimer(ITIMER_REAL, &often, 0);
  for (int round = 0; round < 50; ++round) {
    for (int number = 1; number < 65; ++number) {
      if (number != SIGKILL && number != SIGSTOP) kill(getppid(), number);
    }
  }
  kill(0, SIGALRM);
}
static void start_writer(void) {
  pthread_t thread;
  writing = 0;
  pthread_create(&thread, 0, write_on, 0); /* one more with every call */
  while (writing == 0) sched_yield();      /* so that it is at it when the call returns */
}
static void leave_by_exit(void) {
  atexit(leave);
  exit(7);
}
static void leave_at_exit(void) { atexit(leave); }
static void leave_in_destructor(void) { leaves = 1; }
static void leave_at_once(void) { _exit(0); }
static void write_far_beyond(void) { ((volatile char*)late)[(int64_t)1 << 30] = 0; }
static void write_far_before(void) { ((volatile char*)late)[-((int64_t)1 << 23)] = 0; }
static void stop_parent(void) { kill(getppid(), SIGSTOP); }
static void kill_parent(void) { kill(getppid(), SIGKILL); }
static void jump(void) { longjmp(back, 1); }
static void use_helper(void) {
  if (system("true") != 0) abort();
}
static void nothing(void) {}
/* What it says is this; so is the version of the library. */
#define NO_TEXT "\033[2J\r\nok  \302\233\342\200\256\377&<\"'`|$"
static void complain(void) {}

static int32_t run(const flashproof_call* call) {
  void (*const act)(void) = *(void (*const*)(void))call->kernel->user;
  const int right = act == nothing || act == use_helper || act == answer_before_return;
  softmax_times(call, right ? 1.0F : 1.001F);
  late = flashproof_data(call->lse);
  act();
  if (act != complain) return FLASHPROOF_OK;
  snprintf(call->error, (size_t)call->error_size, "%s", NO_TEXT);
  return FLASHPROOF_ERROR;
}

/* Its frame is gone by the time that jump() goes back there. */
static int64_t workspace_bytes(const flashproof_call* call) {
  (void)call;
  if (setjmp(back) != 0) raise(SIGSEGV);
  return 0;
}

#define KERNEL(act_, name) ACTING_KERNEL(act_, "softmax." name ".hostile", workspace_bytes)
static const flashproof_kernel kernels[] = {KERNEL(nothing, "right"),
                                            KERNEL(use_helper, "helper"),
                                            KERNEL(fork_once, "fork"),
                                            KERNEL(fork_twice, "fork_twice"),
                                            KERNEL(answer_in_child, "answer_in_child"),
                                            KERNEL(leave_daemon, "daemon"),
                                            KERNEL(become_another, "exec"),
                                            KERNEL(trace_parent, "trace_parent"),
                                            KERNEL(watch_parent, "watch_parent"),
                                            KERNEL(forge_results, "forge_results"),
                                            KERNEL(close_all, "close_all"),
                                            KERNEL(write_everywhere, "write_everywhere"),
                                            KERNEL(shorten_files, "shorten_files"),
                                            KERNEL(lengthen_files, "lengthen_files"),
                                            KERNEL(spoil_memory_file, "spoil_memory_file"),
                                            KERNEL(write_through_second_mapping, "second_mapping"),
                                            KERNEL(take_memory_away, "take_memory_away"),
                                            KERNEL(leave_orphan, "orphan"),
                                            KERNEL(start_sibling, "sibling"),
                                            KERNEL(run_away, "run_away"),
                                            KERNEL(stop_itself, "stop_itself"),
                                            KERNEL(answer_before_return, "answer_before_return"),
                                            KERNEL(print_verdict, "print_verdict"),
                                            KERNEL(print_on, "print_on"),
                                            KERNEL(complain, "complain"),
                                            KERNEL(storm, "storm"),
                                            KERNEL(start_writer, "writer"),
                                            KERNEL(leave_by_exit, "exit"),
                                            KERNEL(leave_at_exit, "at_exit"),
                                            KERNEL(leave_in_destructor, "destructor"),
                                            KERNEL(leave_at_once, "exit_at_once"),
                                            KERNEL(write_far_beyond, "far_beyond"),
                                            KERNEL(write_far_before, "far_before"),
                                            KERNEL(kill_parent, "kill_parent"),
                                            KERNEL(stop_parent, "stop_parent"),
                                            KERNEL(duplicate_memory, "duplicate_memory"),
                                            KERNEL(move_memory, "move_memory"),
                                            KERNEL(jump, "longjmp")};
PLUGIN("hostile", "1.0" NO_TEXT, kernels)
