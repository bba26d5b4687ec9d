// Files that are no archive, or made to harm: refused with one line, never a crash, and never written to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "fuzz/archive/hostile_fixture.h"

namespace flashproof {
namespace {

using testing::IsEmpty;

TEST_F(Hostile, files_that_are_no_archive_are_refused_and_left_alone) {
  write(file, "x");
  expect_refused("not an SQLite file");
  write(file, std::string(5000, 'x'));
  expect_refused("not an SQLite file");
  fs::remove(file);
  EXPECT_EQ(sql(file, "CREATE TABLE t(a); INSERT INTO t VALUES (1); PRAGMA user_version = 1; SELECT a FROM t"), "1");
  expect_refused("another application (id 0x0)");
  sql(file, "PRAGMA application_id = 5");
  expect_refused("another application (id 0x5)");
  sql(file, fmt::format("PRAGMA application_id = {}", 0x464c5046));
  expect_refused("table elites is not as version 1 has it");
  fs::remove(file);
  fs::create_directory(file);
  expect_refused("directory");
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  expect_refused("pipe");
}

TEST_F(Hostile, nothing_is_an_archive_only_for_who_makes_one) {
  for (const auto how : {Archive::Open::read_only, Archive::Open::existing}) {
    EXPECT_THAT(refusal<UsageError>([&] { Archive(file, how); }), HasSubstr("no such file"));
    EXPECT_FALSE(fs::exists(file));
    write(file, "");
    EXPECT_THAT(refusal<UsageError>([&] { Archive(file, how); }), HasSubstr("an empty file"));
    EXPECT_EQ(read(file), "");
    fs::remove(file);
  }
  write(file, "");
  EXPECT_THAT(Archive(file, Archive::Open::create).elites(), IsEmpty());
  const auto below = [&] { Archive(folder / "none" / "archive.sqlite", Archive::Open::create); };
  EXPECT_THAT(refusal<InfrastructureError>(below), HasSubstr("No such file or directory"));
}

TEST_F(Hostile, an_archive_of_another_version_is_refused_and_left_alone) {
  make();
  for (const char* version : {"0", "2", "-1", "2147483647"}) {
    sql(file, fmt::format("PRAGMA user_version = {}", version));
    expect_refused("of version");
  }
  sql(file, "PRAGMA user_version = 1");
  EXPECT_EQ(Archive(file, Archive::Open::existing).elites().size(), 12U);
}

TEST_F(Hostile, tables_that_are_not_ours_are_refused) {
  make();
  for (const char* change :
       {"CREATE TABLE zoo(a)", "CREATE VIEW a AS SELECT 1", "CREATE INDEX i ON elites(ratio)",
        "CREATE TRIGGER t AFTER INSERT ON elites BEGIN DELETE FROM findings; END",
        "ALTER TABLE runs ADD COLUMN more TEXT", "DROP TABLE hits", "DROP TABLE hits; CREATE VIEW hits AS SELECT 1"}) {
    const std::string before = read(file);
    ASSERT_EQ(sql(file, change), "") << change;
    expect_refused("damaged archive: ");
    write(file, before);
  }
  EXPECT_EQ(Archive(file, Archive::Open::existing).elites().size(), 12U);
}

TEST_F(Hostile, rows_that_no_archive_has_are_refused_and_the_message_says_what) {
  make();
  const std::vector<std::pair<const char*, const char*>> plants = {
      {"UPDATE elites SET ratio = 9e999 WHERE kernel = 'k3'", "ratio of an elite is inf"},
      {"UPDATE elites SET ratio = -1e-300 WHERE kernel = 'k3'", "ratio of an elite is -1e-300"},
      {"UPDATE elites SET case_line = CAST(x'41ff42' AS TEXT)", "case_line is not UTF-8 without NUL: \"A\\xffB\""},
      {"UPDATE elites SET place = 'a' || char(0) || 'b'", "place is not UTF-8"},
      {"UPDATE elites SET case_line = hex(zeroblob(4000000))", "case_line has 8000000 bytes, at most 65536"},
      {"UPDATE elites SET kernel = hex(zeroblob(600)) WHERE kernel = 'k3'", "kernel has 1200 bytes, at most 1024"},
      {"UPDATE elites SET input = zeroblob(17000000) WHERE kernel = 'k3'",
       "input has 17000000 bytes, at most 16777216"},
      {"UPDATE findings SET ratio = -2", "ratio of a finding is -2"},
      {"UPDATE findings SET detail = CAST(x'eda080' AS TEXT)", "detail is not UTF-8"},
      {"UPDATE hits SET hits = -1", "hits is -1"},
      {"UPDATE witnesses SET bytes = x''", "a witness is empty"},
      {"UPDATE runs SET executions = -5", "executions is -5"},
      {"UPDATE runs SET seconds = 9e999", "seconds of a run are inf"},
  };
  for (const auto& [plant, text] : plants) {
    const std::string before = read(file);
    ASSERT_EQ(sql(file, plant), "") << plant;
    expect_refused(text);
    Archive other(folder / "other", Archive::Open::create);
    EXPECT_THAT(refusal<UsageError>([&] { other.merge(Archive(file, Archive::Open::read_only)); }), HasSubstr(text));
    EXPECT_THAT(other.elites(), IsEmpty());
    write(file, before);
  }
  // The same way of planting with legal values is no reason to refuse.
  ASSERT_EQ(sql(file, "UPDATE elites SET ratio = 7, case_line = 'é'; UPDATE findings SET ratio = 9e999"), "");
  EXPECT_EQ(Archive(file, Archive::Open::existing).elites().at(0).ratio, 7);
  EXPECT_EQ(Archive(file, Archive::Open::existing).findings().at(0).ratio, HUGE_VAL);
}

TEST_F(Hostile, names_that_mean_something_to_sqlite_are_names_of_files) {
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  for (const char* name : {":memory:", "file:a?mode=memory", "a#b?immutable=1%41"}) {
    Archive(name, Archive::Open::create).flush();
    EXPECT_TRUE(fs::is_regular_file(folder / name)) << name;
    EXPECT_THAT(Archive(name, Archive::Open::read_only).elites(), IsEmpty());
  }
  fs::current_path(before);
}

TEST_F(Hostile, an_archive_where_nothing_can_be_written_can_still_be_read) {
  make();
  fs::permissions(file, fs::perms{0444});
  fs::permissions(folder, fs::perms{0555});
  const pid_t child = ::fork();
  if (child == 0) {  // root may write anywhere; nobody may not
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    int result = 1;
    try {
      if (Archive(file, Archive::Open::read_only).elites().size() == 12) result = 0;
      const Archive refused(file, Archive::Open::existing);
      result = 3;
    } catch (const InfrastructureError& e) {
      if (std::string(e.what()).find("archive.sqlite") == std::string::npos) result = 4;
    } catch (...) {
      result = 5;
    }
    ::_exit(result);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  fs::permissions(folder, fs::perms{0755});
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

}  // namespace
}  // namespace flashproof
