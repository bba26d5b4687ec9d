// The program flashproof-fuzz itself, on the fake target: signals, kill -9, the lock, status of a running campaign, usage.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "fuzz/campaign/test/driver_fixture.h"
#include "reference/system/descriptor.h"

namespace flashproof {
namespace {

TEST_F(Driver, saves_everything_on_a_signal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start("fake.finds");
    ::kill(driver, signal);
    EXPECT_EQ(wait(), 1) << complained;
    EXPECT_THAT(complained, HasSubstr("interrupted"));
    EXPECT_THAT(said, HasSubstr("interrupted after"));
    EXPECT_THAT(said, HasSubstr("FAIL fake.finds"));
    EXPECT_TRUE(workers().empty());
    EXPECT_EQ(read_description(out)->state, "interrupted");
  }
}

TEST_F(Driver, interrupted_without_findings_exits_0) {
  start("fake.steady");
  ::kill(driver, SIGTERM);
  EXPECT_EQ(wait(), 0) << complained;
}

TEST_F(Driver, killed_takes_its_workers_along_and_loses_nothing_that_was_flushed) {
  start("fake.finds");
  const auto before = executions();
  ASSERT_EQ(workers().size(), 2U);
  ::kill(driver, SIGKILL);
  EXPECT_EQ(wait(), -SIGKILL);
  EXPECT_TRUE(workers_end_within(5));
  EXPECT_GE(executions(), before);
  EXPECT_EQ(archive().findings().size(), 1U);
  EXPECT_EQ(call({"status", out.root}), 0);
  EXPECT_THAT(said, HasSubstr("killed; the same command goes on"));
  EXPECT_EQ(call(fuzz("fake.steady", "1")), 1) << complained;  // the finding is remembered
  EXPECT_GT(executions(), before);
  EXPECT_EQ(read_description(out)->starts, 2U);
}

TEST_F(Driver, a_killed_worker_is_replaced) {
  start("fake.steady");
  const auto before = executions();
  const auto victims = workers();
  ASSERT_EQ(victims.size(), 2U);
  for (const pid_t victim : victims) ::kill(victim, SIGKILL);
  const auto end = Clock::now() + std::chrono::seconds(10);
  while (executions() < before + 1000 && Clock::now() < end) ::usleep(20'000);
  EXPECT_GE(executions(), before + 1000);
  ::kill(driver, SIGTERM);
  EXPECT_EQ(wait(), 0) << complained;
  EXPECT_TRUE(archive().findings().empty()) << "kill -9 from outside is no finding";
}

TEST_F(Driver, is_alone_in_its_folder_and_can_be_watched) {
  start("fake.steady");
  EXPECT_EQ(call(fuzz("fake.steady", "1")), 2);
  EXPECT_THAT(complained, HasSubstr("another driver works there (pid " + std::to_string(driver) + ")"));
  EXPECT_EQ(std::count(complained.begin(), complained.end(), '\n'), 1);
  EXPECT_EQ(call({"merge", out.root, out.root}), 2);
  for (const auto& words : {std::vector<std::string>{"status", out.root}, {"fuzz", "--status", out.root}}) {
    EXPECT_EQ(call(words), 0) << complained;
    EXPECT_THAT(said, HasSubstr("running (pid " + std::to_string(driver) + ")"));
    EXPECT_THAT(said, HasSubstr("fake.steady f32"));
  }
  ::kill(driver, SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_EQ(call({"status", out.root}), 0);
  EXPECT_THAT(said, HasSubstr(": interrupted; "));
}

TEST_F(Driver, says_how_it_goes_once_it_runs) {
  EXPECT_EQ(call(fuzz("fake.steady", "2")), 0);
  EXPECT_THAT(complained, HasSubstr("flashproof: fuzz fake: "));
  EXPECT_THAT(complained, HasSubstr("/s, worst 0.25 (fake.steady f32 o.weights), 0 findings, "));
  EXPECT_THAT(complained, HasSubstr(" corpus files, 2 workers, "));
  EXPECT_EQ(call({"fuzz", "--status", "nowhere"}), 2);
  EXPECT_EQ(call({"fuzz", "--status"}), 2);
  EXPECT_THAT(complained, HasSubstr("no campaign in out/fuzz"));
  fs::create_directories(folder / "out" / "fuzz");
  fs::rename(out.root, folder / "away");
  fs::create_directories(folder / "out" / "fuzz");
  fs::rename(folder / "away", folder / "out" / "fuzz" / "fake");
  for (const auto& words :
       {std::vector<std::string>{"fuzz", "--status"}, {"fuzz", "--status", "fake"}, {"fuzz", "fake", "--status"}}) {
    EXPECT_EQ(call(words), 0) << complained;
    EXPECT_THAT(said, HasSubstr("finished"));
  }
}

TEST_F(Driver, writes_one_line_again_and_again_on_a_terminal) {
  const Descriptor terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  if (!terminal) GTEST_SKIP() << "this system has no pseudo-terminals: " << std::strerror(errno);
  ASSERT_TRUE(::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  const std::string name = ::ptsname(terminal.get());
  const Descriptor held(::open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));  // what was written stays readable
  const winsize narrow{24, 60, 0, 0};
  ASSERT_EQ(::ioctl(held.get(), TIOCSWINSZ, &narrow), 0);
  fs::create_symlink(name, folder / "driver.err");
  const char* kind = std::getenv("TERM");
  const std::optional<std::string> before = kind == nullptr ? std::nullopt : std::optional<std::string>(kind);
  ::setenv("TERM", "xterm", 1);
  driver = spawn(fuzz("fake.steady", "3"), "driver");
  before ? ::setenv("TERM", before->c_str(), 1) : ::unsetenv("TERM");
  int status = 0;
  ::waitpid(driver, &status, 0);
  driver = -1;
  EXPECT_EQ(status, 0);
  std::string shown(1 << 16, '\0');
  const ssize_t size = ::read(terminal.get(), shown.data(), shown.size());
  ASSERT_GT(size, 0);
  shown.resize(static_cast<std::size_t>(size));
  constexpr const char* kAgain = "\r\x1b[K";
  const std::string line = std::string(kAgain) + "fuzz fake: ";
  const std::size_t first = shown.find(line), second = shown.find(line, first + 1);
  ASSERT_NE(second, std::string::npos) << shown;
  EXPECT_EQ(second - first, 59U + 4) << "cut to the width, without a line break";
  EXPECT_EQ(shown.find('\n'), std::string::npos) << shown;
  EXPECT_TRUE(shown.ends_with(kAgain)) << "the line is cleared at the end";
}

TEST_F(Driver, every_option_out_of_range_is_one_line) {
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"fuzz"},
                                                    {"fuss"},
                                                    {"status"},
                                                    {"merge"},
                                                    {"merge", "a"},
                                                    {"export", "a"},
                                                    {"status", "nowhere"},
                                                    {"export", "a", "--to", "b"},
                                                    {"fuzz", "fake", "extra"},
                                                    {"fuzz", "nothing"},
                                                    {"fuzz", "../fake"},
                                                    {"fuzz", "fake", "--frobnicate"}};
  for (const auto& words : wrong) {
    EXPECT_EQ(call(words), 2) << complained;
    EXPECT_EQ(std::count(complained.begin(), complained.end(), '\n'), 1) << complained;
    EXPECT_EQ(said, "");
  }
  const std::vector<std::pair<const char*, const char*>> options{
      {"--seconds", "0"},   {"--seconds", "-1"},  {"--seconds", "nan"}, {"--seconds", "inf"},
      {"--seconds", "1e9"}, {"--seconds", "x"},   {"--jobs", "0"},      {"--jobs", "-1"},
      {"--jobs", "4097"},   {"--jobs", "1.5"},    {"--seed", "-1"},     {"--seed", "18446744073709551616"},
      {"--exec", "gpu"},    {"--math", "native"},  // there is no such option
      {"--guide", "luck"},  {"--shard", "2/2"},   {"--shard", "x"},     {"--kernel", "fake.nothing"},
      {"--format", "f99"}};
  for (const auto& [option, value] : options) {
    EXPECT_EQ(call({"fuzz", "fake", "--targets", FLASHPROOF_FAKE_TARGETS, option, value}), 2) << option << " " << value;
    EXPECT_EQ(std::count(complained.begin(), complained.end(), '\n'), 1) << complained;
    const std::string what = std::string(option).substr(2);
    EXPECT_THAT(complained, HasSubstr(what));
    EXPECT_EQ(said, "");
    EXPECT_FALSE(fs::exists(folder / "out")) << option << " " << value;
  }
}

TEST_F(Driver, a_file_size_limit_is_a_full_disk) {
  // The workers inherit it: the archive cannot grow, and says so.
  start("fake.steady");
  ::kill(driver, SIGTERM);
  wait();
  const auto before = executions();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(call(fuzz("fake.steady", "20")));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3) << read_file(folder / "call.err");
  EXPECT_EQ(executions(), before);
  EXPECT_EQ(call(fuzz("fake.steady", "1")), 0) << complained;
}

}  // namespace
}  // namespace flashproof
