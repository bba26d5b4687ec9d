// The tables of an archive, and what marks a file as one.
//
// elites (key → the worst), findings (key → the first report), witnesses (key → the smallest), hits (key and run → a count),
// runs (id → totals). Witness and hits have tables of their own, since a hit must not write a large row again.
#pragma once

#include <array>
#include <cstdint>

namespace flashproof::archive {

inline constexpr std::int64_t kApplicationId = 0x464c5046;  // "FLPF": PRAGMA application_id, bytes 68–71 of the file
inline constexpr std::int64_t kVersion = 1;                 // PRAGMA user_version, bytes 60–63

struct Table {
  const char* name;
  const char* sql;  // as sqlite_schema shows it
};
/// By name. WITHOUT ROWID: one tree per table, so there is no index that could disagree with it, and quick_check sees everything.
inline constexpr std::array kTables{
    Table{
        "elites",
        "CREATE TABLE elites(target TEXT NOT NULL, kernel TEXT NOT NULL, format TEXT NOT NULL, executor TEXT NOT NULL, "
        "math TEXT NOT NULL, shape_class TEXT NOT NULL, term TEXT NOT NULL, ratio REAL NOT NULL, case_line TEXT NOT "
        "NULL, "
        "input BLOB NOT NULL, place TEXT NOT NULL, found INTEGER NOT NULL, "
        "PRIMARY KEY(target, kernel, format, executor, math, shape_class, term)) STRICT, WITHOUT ROWID"},
    Table{"findings",
          "CREATE TABLE findings(target TEXT NOT NULL, kernel TEXT NOT NULL, format TEXT NOT NULL, executor TEXT NOT "
          "NULL, "
          "math TEXT NOT NULL, what TEXT NOT NULL, shape_class TEXT NOT NULL, term TEXT NOT NULL, schedule TEXT NOT "
          "NULL, "
          "ratio REAL NOT NULL, case_line TEXT NOT NULL, detail TEXT NOT NULL, input BLOB NOT NULL, first INTEGER NOT "
          "NULL, "
          "PRIMARY KEY(target, kernel, format, executor, math, what, shape_class, term)) STRICT, WITHOUT ROWID"},
    Table{"hits",
          "CREATE TABLE hits(target TEXT NOT NULL, kernel TEXT NOT NULL, format TEXT NOT NULL, executor TEXT NOT NULL, "
          "math TEXT NOT NULL, what TEXT NOT NULL, shape_class TEXT NOT NULL, term TEXT NOT NULL, run TEXT NOT NULL, "
          "hits INTEGER NOT NULL, last INTEGER NOT NULL, "
          "PRIMARY KEY(target, kernel, format, executor, math, what, shape_class, term, run)) STRICT, WITHOUT ROWID"},
    Table{"runs",
          "CREATE TABLE runs(id TEXT NOT NULL PRIMARY KEY, target TEXT NOT NULL, kernel TEXT NOT NULL, format TEXT NOT "
          "NULL, "
          "executor TEXT NOT NULL, math TEXT NOT NULL, executions INTEGER NOT NULL, judged INTEGER NOT NULL, "
          "escalated INTEGER NOT NULL, seconds REAL NOT NULL) STRICT, WITHOUT ROWID"},
    Table{"witnesses",
          "CREATE TABLE witnesses(target TEXT NOT NULL, kernel TEXT NOT NULL, format TEXT NOT NULL, executor TEXT NOT "
          "NULL, "
          "math TEXT NOT NULL, what TEXT NOT NULL, shape_class TEXT NOT NULL, term TEXT NOT NULL, bytes BLOB NOT NULL, "
          "brief TEXT NOT NULL, "
          "PRIMARY KEY(target, kernel, format, executor, math, what, shape_class, term)) STRICT, WITHOUT ROWID"},
};

}  // namespace flashproof::archive
