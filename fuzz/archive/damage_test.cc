// Flipped bytes and cut files: refused with one line, or still readable; never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "fuzz/archive/hostile_fixture.h"

namespace flashproof {
namespace {

TEST_F(Hostile, a_ratio_that_is_nan_is_refused) {
  // SQL cannot write it: patched into the file, in place of a number that is there once.
  make();
  ASSERT_EQ(sql(file, "UPDATE elites SET ratio = 1.2345678901234567 WHERE kernel = 'k3'"), "");
  std::string bytes = read(file);
  const std::string number("\x3f\xf3\xc0\xca\x42\x8c\x59\xfb", 8);
  const std::size_t at = bytes.find(number);
  ASSERT_NE(at, std::string::npos);
  ASSERT_EQ(bytes.find(number, at + 1), std::string::npos);
  EXPECT_EQ(Archive(file, Archive::Open::existing).elites().size(), 12U);
  bytes.replace(at, 8, std::string("\x7f\xf8\0\0\0\0\0\0", 8));
  write(file, bytes);
  expect_refused("ratio");
}

TEST_F(Hostile, damage_anywhere_is_refused_or_leaves_a_readable_archive) {
  make();
  const std::string good = read(file);
  ASSERT_GE(good.size(), 7U * 4096);
  int refused = 0;
  int readable = 0;
  const auto attempt = [&](const std::string& bytes, std::size_t at) {
    write(file, bytes);
    fs::remove(file.string() + "-wal");
    fs::remove(file.string() + "-shm");
    const bool reads_only = (refused + readable) % 2 == 0;
    const std::string text = refusal<UsageError>([&] {
      Archive archive(file, reads_only ? Archive::Open::read_only : Archive::Open::existing);
      read_everything(archive);
      if (reads_only) return;
      archive.offer(elite("new", 1));
      archive.report(finding("new"), "run");
      archive.flush();
    });
    ++(text.empty() ? readable : refused);
    if (text.empty() && HasFailure()) ADD_FAILURE() << "byte " << at;
  };
  attempt(good, 0);
  ASSERT_EQ(refused, 0);
  for (std::size_t at = 0; at < good.size();) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (at % 3 == 0 ? 0xff : at % 3 == 1 ? 0x80 : 0x01));
    attempt(bytes, at);
    const std::size_t in_page = at % 4096;
    at += at < 110 || in_page < 12         ? 1
          : in_page < 64 || in_page > 3500 ? 7
                                           : 97;  // headers and cells closer than content
  }
  for (std::size_t size = 0; size < good.size(); size += 1371) {
    if (size > 0) attempt(good.substr(0, size), size);
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(readable, 100);  // bytes of an input, of a text, of free space
}

TEST_F(Hostile, a_damaged_log_costs_at_most_what_is_in_it) {
  make();
  // A process that ends without closing leaves its log.
  const pid_t child = ::fork();
  if (child == 0) {
    Archive archive(file, Archive::Open::existing);
    for (int i = 0; i < 8; ++i) {
      archive.offer(elite("late" + std::to_string(i), 0.5));
      archive.flush();
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const std::string main_file = read(file);
  const std::string log = read(file.string() + "-wal");
  ASSERT_GT(log.size(), 8U * 4096);
  std::size_t fewest = 100;
  std::size_t most = 0;
  for (std::size_t at = 0; at < log.size(); at += at < 64 ? 3 : 331) {
    write(file, main_file);
    std::string damaged = log;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    write(file.string() + "-wal", damaged);
    fs::remove(file.string() + "-shm");
    const auto count = Archive(file, Archive::Open::existing).elites().size();
    EXPECT_GE(count, 12U) << at;
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  EXPECT_EQ(fewest, 12U);
  EXPECT_GT(most, 15U);
}

}  // namespace
}  // namespace flashproof
