#include "fuzz/archive/open.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <thread>

#include "fuzz/archive/tables.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::archive {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

std::uint32_t big_endian(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 | std::uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

void check_ids(const Database& database, std::int64_t application_id, std::int64_t version) {
  if (application_id != kApplicationId) {
    throw UsageError(fmt::format("{}: no flashproof archive: a database of another application (id {:#x})",
                                 database.name(), application_id));
  }
  if (version != kVersion) {
    throw UsageError(
        fmt::format("{}: an archive of version {}, this program takes version {}", database.name(), version, kVersion));
  }
}

/// From the raw header: asking SQLite would already roll back what a foreign program has left half done. Both ids are
/// in the file before it is first in WAL mode, and never change.
void check_header(const Database& database, const fs::path& file, bool may_be_empty) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const bool one_byte = fs::file_size(file) == 1;  // to SQLite that is empty too
  const std::vector<std::uint8_t> header = database.header();
  const bool empty = header.empty() && !one_byte;
  if (empty && may_be_empty) return;
  if (empty) throw UsageError(fmt::format("{}: no flashproof archive: an empty file", database.name()));
  if (header.size() < 100 || !std::equal(kMagic.begin(), kMagic.end(), header.begin())) {
    throw UsageError(fmt::format("{}: no flashproof archive: not an SQLite file", database.name()));
  }
  check_ids(database, big_endian(header, 68), big_endian(header, 60));
  // 1: rollback journal (an archive whose maker was killed), 2: WAL; SQLite would call anything else read-only.
  if (std::max(header[18], header[19]) > 2) database.damaged("its header asks for an unknown version of SQLite");
}

bool is_blank(const Database& database) {
  return database.number("SELECT count(*) FROM sqlite_schema") == 0 && database.number("PRAGMA application_id") == 0;
}

/// All or nothing, in a transaction that keeps everybody else out: of two processes that both want to make the archive the
/// second one finds it made.
void make_tables(const Database& database) {
  Transaction transaction(database, Transaction::Kind::exclusive);
  if (!is_blank(database)) return;
  for (const Table& table : kTables) database.execute(table.sql);
  database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", kVersion).c_str());
  transaction.commit();
}

/// Not one table, index, view or trigger more or less than ours, to the letter: no statement below can then mean
/// something else than it says.
void check_tables(const Database& database) {
  Statement schema(database, "SELECT name, sql FROM sqlite_schema ORDER BY name");
  schema.query();
  for (const Table& table : kTables) {
    if (!schema.step() || schema.text(0, 100) != table.name || schema.text(1, 10'000) != table.sql) {
      database.damaged(fmt::format("table {} is not as version {} has it", table.name, kVersion));
    }
  }
  if (schema.step()) database.damaged(fmt::format("it has more tables than version {}", kVersion));
}

void check_pages(const Database& database) {
  Statement check(database, "PRAGMA quick_check(1)");
  check.query();
  const std::string result = check.step() ? check.text(0, 1 << 20) : "no answer";
  if (result != "ok") database.damaged(result);
}

void use_wal(const Database& database) {
  Statement mode(database, "PRAGMA journal_mode = WAL");
  mode.query();
  if (!mode.step() || mode.text(0, 100) != "wal") {
    throw InfrastructureError(
        fmt::format("{}: archive: this file system does not support SQLite's WAL", database.name()));
  }
}

void set_up(const Database& database, Archive::Open how) {
  database.execute("PRAGMA mmap_size = 0");  // errors of the disk as errors, not as SIGBUS
  database.execute("PRAGMA cell_size_check = ON");
  if (how == Archive::Open::create && is_blank(database)) make_tables(database);
  check_ids(database, database.number("PRAGMA application_id"), database.number("PRAGMA user_version"));
  check_tables(database);
  check_pages(database);
  if (how == Archive::Open::read_only) return;
  use_wal(database);
  // A commit has written to the log file before it returns, and what a process has written survives kill -9. NORMAL does
  // not wait for the disk as FULL does (so many workers that flush each second do not wait in line); after a power failure
  // the archive is intact, but may lack the commits since the last checkpoint.
  database.execute("PRAGMA synchronous = NORMAL");
}

/// Readers of a WAL database write to its -shm file. Where the folder does not let us, the main file alone is the
/// archive, unless a log beside it has more.
bool main_file_is_all(const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code no_log;
  const auto size = fs::file_size(file.string() + "-wal", no_log);
  return ::access(folder.c_str(), W_OK) != 0 && (no_log || size == 0);
}

}  // namespace

Database open_archive(const fs::path& path, Archive::Open how) {
  const fs::path file = replaceable_file(path);  // a pipe would block, a device is no archive
  const bool create = how == Archive::Open::create;
  const bool read_only = how == Archive::Open::read_only;
  if (!create && !fs::exists(file)) {
    throw UsageError(fmt::format("{}: no such file, must be an archive", printable(path.string(), 4096)));
  }
  int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (create) flags |= SQLITE_OPEN_CREATE;
  Database database(path, flags, read_only && main_file_is_all(file));
  check_header(database, file, create);
  if (!read_only && !database.can_write()) {
    throw InfrastructureError(fmt::format("{}: archive: cannot be written", database.name()));
  }
  // SQLite waits for other processes, except where waiting could be for ever: of two that both want to change the journal's
  // mode, which happens once in an archive's life, it refuses one at once.
  const auto end = Clock::now() + std::chrono::milliseconds(sqlite::kBusyMilliseconds);
  for (;;) {
    try {
      set_up(database, how);
      return database;
    } catch (const sqlite::Busy&) {
      if (Clock::now() >= end) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

}  // namespace flashproof::archive
