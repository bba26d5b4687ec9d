// For the archive's tests: a folder of its own, sample rows, processes to kill, and SQLite without the archive, to plant what the archive never
// writes and to ask it for its own opinion of a file.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fuzz/archive/archive.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {

namespace fs = std::filesystem;
using testing::HasSubstr;

inline bool operator==(const Elite& a, const Elite& b) {
  return std::tie(a.subject, a.shape_class, a.term, a.ratio, a.case_line, a.input, a.where, a.found) ==
         std::tie(b.subject, b.shape_class, b.term, b.ratio, b.case_line, b.input, b.where, b.found);
}
inline bool operator==(const Finding& a, const Finding& b) {
  return std::tie(a.subject, a.what, a.shape_class, a.term, a.schedule, a.ratio, a.case_line, a.detail, a.input,
                  a.witness, a.brief, a.hits, a.first,
                  a.last) == std::tie(b.subject, b.what, b.shape_class, b.term, b.schedule, b.ratio, b.case_line,
                                      b.detail, b.input, b.witness, b.brief, b.hits, b.first, b.last);
}
inline bool operator==(const Run& a, const Run& b) {
  return std::tie(a.id, a.subject, a.executions, a.judged, a.escalated, a.seconds) ==
         std::tie(b.id, b.subject, b.executions, b.judged, b.escalated, b.seconds);
}

inline Elite elite(const std::string& kernel, double ratio, std::vector<std::uint8_t> input = {1, 2, 3}) {
  return {{"attention", kernel, "f32", "cpu", "det"},
          "causal",
          "o.weights",
          ratio,
          "normal m=1",
          std::move(input),
          "o[0]",
          1000};
}
inline Finding finding(const std::string& kernel, std::int64_t first = 1000,
                       std::vector<std::uint8_t> input = {1, 2, 3}) {
  Finding result;
  result.subject = {"attention", kernel, "f32", "cpu", "det"};
  result.what = "exceeds_bound";
  result.shape_class = "causal";
  result.ratio = 2.5;
  result.case_line = "normal m=1";
  result.detail = "o[0] is 3";
  result.input = std::move(input);
  result.hits = 1;
  result.first = result.last = first;
  return result;
}
inline Run run(const std::string& id, std::uint64_t executions) {
  return {id, {"attention", "k", "f32", "cpu", "det"}, executions, executions / 2, 1, 0.5};
}

/// Runs `action` in a child, which ends without destructors or gtest: 0, or 1 after an exception.
template <class Action>
pid_t in_child(Action action) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    action();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "child: %s\n", e.what());
    ::_exit(1);
  }
  ::_exit(0);
}

inline int status_of(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

inline std::string numbered(const std::string& name, int i) { return fmt::format("{}.{}", name, i); }

/// Which of the elites `name`.0 … `name`.(count − 1) are not there.
inline std::set<int> missing(const Archive& archive, const std::string& name, int count) {
  std::set<int> result;
  for (int i = 0; i < count; ++i) {
    if (!archive.ratio(elite(numbered(name, i), 0))) result.insert(i);
  }
  return result;
}

/// For tests that make thousands of archives, each with several waits for the disk: memory, where there is some to write to.
inline fs::path fast_folder() {
  const fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

class ArchiveTest : public testing::Test {
 protected:
  explicit ArchiveTest(const fs::path& where = fs::temp_directory_path()) : temporary(where) {}

  static std::string read(const fs::path& path) { return read_file(path); }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  /// SQLite's answer: the first column of the last row, or "error: ...".
  static std::string sql(const fs::path& path, const std::string& statements) {
    sqlite3* database = nullptr;
    std::string answer;
    const auto keep = [](void* result, int, char** values, char**) {
      *static_cast<std::string*>(result) = values[0] != nullptr ? values[0] : "NULL";
      return 0;
    };
    if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK ||
        sqlite3_exec(database, statements.c_str(), keep, &answer, nullptr) != SQLITE_OK) {
      answer = fmt::format("error: {}", sqlite3_errmsg(database));
    }
    sqlite3_close(database);
    return answer;
  }

  /// The one line of the Error that `action` throws, which must name the file; "" if it throws none.
  template <class Error, class Action>
  static std::string refusal(Action action, const std::string& file_name = "archive.sqlite") {
    try {
      action();
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), HasSubstr(file_name));
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    return "";
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  const fs::path file = folder / "archive.sqlite";
};

}  // namespace flashproof
