// Several processes at once, and kill -9: what was flushed is there afterwards.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fuzz/archive/archive_fixture.h"

namespace flashproof {
namespace {

using testing::IsEmpty;

TEST_F(ArchiveTest, processes_that_make_and_write_one_archive_at_once_lose_nothing) {
  constexpr int kProcesses = 4;
  constexpr int kFlushes = 60;
  const auto work = [&](int process) {
    const std::string name = std::to_string(process);
    Archive archive(file, Archive::Open::create);
    for (int i = 0; i < kFlushes; ++i) {
      archive.offer(elite(numbered(name, i), 0.5, std::vector<std::uint8_t>(500, 1)));
      archive.offer(elite("shared", (i * kProcesses + process) / 1000.0));
      archive.report(finding("shared"), name);
      archive.record(run(name, static_cast<std::uint64_t>(i)));
      if (process != 3 || i != kFlushes - 1) archive.flush();  // the last one forgets to: the check must see that
    }
  };
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(in_child([&] { work(process); }));
  }
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);

  const Archive archive(file, Archive::Open::existing);
  for (int process = 0; process < 3; ++process) {
    EXPECT_THAT(missing(archive, std::to_string(process), kFlushes), IsEmpty()) << process;
  }
  EXPECT_THAT(missing(archive, "3", kFlushes), testing::ElementsAre(kFlushes - 1));
  EXPECT_EQ(archive.findings().at(0).hits, kProcesses * kFlushes - 1U);
  EXPECT_EQ(archive.ratio(elite("shared", 0)), (kFlushes * kProcesses - 2) / 1000.0);
  EXPECT_EQ(archive.runs().size(), 4U);
}

TEST_F(ArchiveTest, many_processes_may_make_it_at_the_same_moment) {
  for (int round = 0; round < 10; ++round) {
    const fs::path fresh = folder / std::to_string(round);
    std::vector<pid_t> children;
    children.reserve(8);
    for (int i = 0; i < 8; ++i) {
      children.push_back(in_child([&] {
        Archive archive(fresh, Archive::Open::create);
        archive.report(finding("k"), std::to_string(i));
        archive.flush();
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(Archive(fresh, Archive::Open::existing).findings().at(0).hits, 8U);
  }
}

/// Rounds of a child that offers, flushes and then acknowledges through a pipe, until it is killed. Returns the number of
/// acknowledged elites that are lost.
class Killed : public ArchiveTest {
 protected:
  int lost(bool flushes_before_it_acknowledges) {
    int lost = 0;
    for (int round = 0; round < 12; ++round) {
      const std::string name = "round" + std::to_string(round);
      int pipe[2] = {-1, -1};
      if (::pipe2(pipe, O_CLOEXEC) != 0) ADD_FAILURE() << "no pipe";
      const pid_t child = in_child([&] {
        Archive archive(file, Archive::Open::create);
        for (int i = 0;; ++i) {
          // Some transactions of many pages, so that the log is moved into the main file (a checkpoint) now and then.
          const std::size_t bytes = i % 8 == 0 ? 300'000 : 700;
          archive.offer(elite(numbered(name, i), 0.5, std::vector<std::uint8_t>(bytes, 9)));
          archive.report(finding(name), name);
          if (flushes_before_it_acknowledges) archive.flush();
          const char byte = 'x';
          if (::write(pipe[1], &byte, 1) != 1) break;
        }
      });
      ::close(pipe[1]);
      // Kill it after a number of flushes, and a part of one.
      int acknowledged = 0;
      char byte = 0;
      while (acknowledged < 5 + 7 * round && ::read(pipe[0], &byte, 1) == 1) ++acknowledged;
      ::usleep(static_cast<useconds_t>(round * 137));
      ::kill(child, SIGKILL);
      while (::read(pipe[0], &byte, 1) == 1) ++acknowledged;
      ::close(pipe[0]);
      EXPECT_TRUE(WIFSIGNALED(status_of(child)));
      EXPECT_GE(acknowledged, 5 + 7 * round);

      // Here the archive is as it was left: its log is not merged yet, and read_only must see what is in it.
      {
        const Archive archive(file, round % 2 == 0 ? Archive::Open::existing : Archive::Open::read_only);
        const auto gone = missing(archive, name, acknowledged);
        lost += static_cast<int>(gone.size());
        for (const Finding& found : archive.findings()) {
          if (found.subject.kernel != name) continue;
          // Each acknowledged flush and, if it was killed before the acknowledgement, one more.
          EXPECT_GE(found.hits, static_cast<std::uint64_t>(acknowledged));
          EXPECT_LE(found.hits, static_cast<std::uint64_t>(acknowledged) + 1);
        }
      }
      EXPECT_EQ(sql(file, "PRAGMA integrity_check"), "ok");
    }
    return lost;
  }
};

TEST_F(Killed, at_any_moment_it_opens_is_intact_and_has_every_acknowledged_flush) { EXPECT_EQ(lost(true), 0); }
TEST_F(Killed, the_check_sees_what_was_acknowledged_without_a_flush) { EXPECT_GT(lost(false), 500); }

TEST_F(ArchiveTest, killed_while_it_is_made_it_can_be_made_again) {
  for (int round = 0; round < 25; ++round) {
    const fs::path fresh = folder / std::to_string(round);
    const pid_t child = in_child([&] {
      const Archive archive(fresh, Archive::Open::create);
      for (;;) ::pause();
    });
    ::usleep(static_cast<useconds_t>(round * 300));
    ::kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    Archive archive(fresh, Archive::Open::create);
    archive.offer(elite("k", 0.5));
    archive.flush();
    EXPECT_EQ(archive.elites().size(), 1U);
  }
}

}  // namespace
}  // namespace flashproof
