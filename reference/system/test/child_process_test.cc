// Every way in which a child can fail to answer, and one in which it answers.
#include "reference/system/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "reference/system/descriptor.h"
#include "reference/system/error.h"
#include "reference/system/program.h"

namespace flashproof {
namespace {

using End = ChildAnswer::End;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What the end to write to of the next pipe of this process will be: the lowest free descriptors are taken.
int next_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]), ::close(ends[1]);
  return ends[1];
}

TEST(ChildProcess, an_answer_comes_back_whole) {
  std::string long_text(300000, 'x');  // more than a pipe holds
  const ChildAnswer answer = ask_child([&] { return long_text; });
  EXPECT_TRUE(answer.answered());
  EXPECT_EQ(answer.text, long_text);
  const ChildAnswer nothing = ask_child([] { return std::string(); });
  EXPECT_TRUE(nothing.answered());
  EXPECT_EQ(nothing.text, "");
}

TEST(ChildProcess, what_the_child_changes_is_its_own) {
  int here = 1;
  const ChildAnswer answer = ask_child([&] { return std::to_string(++here); });
  EXPECT_EQ(answer.text, "2");
  EXPECT_EQ(here, 1);
}

TEST(ChildProcess, a_crash_is_told_with_its_signal) {
  const ChildAnswer answer = ask_child([]() -> std::string {
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would exit instead
    ::raise(SIGSEGV);
    return "survived";
  });
  EXPECT_EQ(answer.end, End::ended);
  EXPECT_EQ(answer.complaint(), "was killed by signal 11 (Segmentation fault)");
}

TEST(ChildProcess, an_exit_or_an_exception_in_place_of_an_answer_is_none) {
  EXPECT_EQ(ask_child([]() -> std::string { ::_exit(0); }).complaint(), "exited with code 0");
  EXPECT_EQ(ask_child([]() -> std::string { throw std::runtime_error("no"); }).complaint(), "exited with code 3");
}

TEST(ChildProcess, half_an_answer_is_none) {
  const ChildAnswer answer = ask_child([to = next_pipe()]() -> std::string {
    write_all(to, "half an ans");
    ::_exit(7);
  });
  EXPECT_EQ(answer.end, End::ended);
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.complaint(), "exited with code 7");
}

TEST(ChildProcess, who_hangs_past_the_limit_is_killed) {
  ChildAnswer answer;
  const auto hang = [&] {
    answer = ask_child(
        []() -> std::string {
          for (;;) ::pause();
        },
        {.seconds = 0.1});
  };
  EXPECT_LT(seconds_of(hang), 5);
  EXPECT_EQ(answer.end, End::timed_out);
  EXPECT_EQ(answer.complaint(), "did not answer within 0.1 s");
  EXPECT_TRUE(WIFSIGNALED(answer.status));
}

TEST(ChildProcess, who_says_without_end_is_killed) {
  ChildAnswer answer;
  const auto flood = [&] {
    answer = ask_child(
        [to = next_pipe()]() -> std::string {
          for (;;) write_all(to, std::string(4096, 'x'));
        },
        {.bytes = 10000});
  };
  EXPECT_LT(seconds_of(flood), 5);
  EXPECT_EQ(answer.end, End::flooded);
  EXPECT_EQ(answer.text, "");
  EXPECT_EQ(answer.complaint(), "answered with more than 10000 bytes");
}

TEST(ChildProcess, the_longest_legal_answer_is_one_and_a_byte_more_is_none) {
  const auto of_size = [](std::size_t n) { return ask_child([n] { return std::string(n, 'x'); }, {.bytes = 100}).end; };
  EXPECT_EQ(of_size(100), End::answered);
  EXPECT_EQ(of_size(101), End::flooded);
}

TEST(ChildProcess, who_closes_its_pipe_and_runs_on_is_ended) {
  ChildAnswer answer;
  const auto close_and_hang = [&] {
    answer = ask_child([to = next_pipe()]() -> std::string {
      ::close(to);
      for (;;) ::pause();
    });
  };
  EXPECT_LT(seconds_of(close_and_hang), 10);
  EXPECT_EQ(answer.end, End::ended);
  EXPECT_EQ(answer.complaint(), "was killed by signal 9 (Killed)");
}

TEST(ChildProcess, a_process_left_behind_holds_nobody_up) {
  ChildAnswer answer;
  const auto leave = [&] {
    answer = ask_child([]() -> std::string {
      if (::fork() == 0) {  // it holds the pipe
        for (int fd = 0; fd < 3; ++fd) ::close(fd);
        ::sleep(20);
        ::_exit(0);
      }
      return "done";
    });
  };
  EXPECT_LT(seconds_of(leave), 10);
  EXPECT_EQ(answer.text, "done");
}

TEST(ChildProcess, what_the_child_prints_is_not_among_the_parents_data) {
  testing::internal::CaptureStdout();
  std::printf("ours\n");  // not yet written when the child starts
  const ChildAnswer answer = ask_child([] {
    std::printf("theirs\n");
    std::fflush(stdout);
    return std::string("done");
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "ours\n");
  EXPECT_EQ(answer.text, "done");
}

TEST(ChildProcess, a_pipe_without_a_reader_is_the_machines_failure) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  const Descriptor to(ends[1]);
  EXPECT_THROW(write_all(to.get(), "x"), InfrastructureError);
  ::signal(SIGPIPE, before);
}

}  // namespace
TEST(Program, children_are_waited_for_where_the_parent_ignored_their_ends) {
  const pid_t child = fork_child([] {
    std::signal(SIGCHLD, SIG_IGN);
    ::_exit(run_program([] { return WEXITSTATUS(reap(fork_child([] { ::_exit(7); }), 10'000)); }));
  });
  const int status = reap(child, 10'000);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace flashproof
