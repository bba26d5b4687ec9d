// A thin layer over SQLite's C API: handles that close themselves, and errors as exceptions that name the file.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace flashproof::sqlite {

inline constexpr int kBusyMilliseconds = 30'000;  // how long to wait for other processes

/// Another process holds the file.
struct Busy : InfrastructureError {
  using InfrastructureError::InfrastructureError;
};

using Bytes = std::vector<std::uint8_t>;

/// One connection. Every error of SQLite becomes one of the two of reference/system/error.h: UsageError where the file's
/// content is at fault, InfrastructureError for everything else.
class Database {
 public:
  /// SQLITE_OPEN_* flags. `immutable`: promises that no process writes, and then SQLite needs no lock and no file beside this one.
  Database(const std::filesystem::path& file, int flags, bool immutable = false);

  /// The first 100 bytes of the file, without locks and without recovery; fewer if the file is shorter. Read through
  /// SQLite, since closing a descriptor of one's own would drop the locks that this process holds on the file.
  std::vector<std::uint8_t> header() const;
  void execute(const char* sql) const;
  std::int64_t number(const char* sql) const;  // the one integer that it returns
  bool can_write() const;

  sqlite3* handle() const { return handle_.get(); }
  const std::string& name() const { return name_; }  // printable

  [[noreturn]] void fail(int code) const;
  [[noreturn]] void damaged(std::string_view how) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string name_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// One statement, used any number of times: query(values...), then step() and the columns of each row; or run(values...).
class Statement {
 public:
  Statement(const Database& database, const std::string& sql);

  /// The values must live until the last step().
  template <class... T>
  void query(const T&... values) {
    reset();
    int at = 0;
    (bind(++at, values), ...);
  }
  bool step();
  /// For statements without rows.
  template <class... T>
  void run(const T&... values) {
    query(values...);
    step();
    reset();
  }

  // Columns of the present row, from 0. UsageError for another type, more than `limit` bytes, text that is not UTF-8 or
  // holds a NUL, or a NaN (which SQLite stores as NULL): what no archive of ours has.
  std::string text(int column, std::size_t limit) const;
  Bytes blob(int column, std::size_t limit) const;
  std::int64_t integer(int column) const;
  std::uint64_t count(int column) const;  // integer() >= 0
  double real(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void reset();
  void bind(int at, const std::string& value);
  void bind(int at, const Bytes& value);
  void bind(int at, double value);
  void bind(int at, std::int64_t value);
  void bind(int at, std::uint64_t value);  // beyond int64: its largest
  void expect_type(int column, int type) const;
  [[noreturn]] void damaged(int column, const std::string& how) const;

  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// BEGIN …; rolled back at the end of the scope unless it was committed.
class Transaction {
 public:
  enum class Kind : std::uint8_t { read, write, exclusive };
  Transaction(const Database& database, Kind kind);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
};

}  // namespace flashproof::sqlite
