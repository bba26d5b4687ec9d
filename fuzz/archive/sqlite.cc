#include "fuzz/archive/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fuzz/archive/text_rules.h"
#include "reference/system/text.h"

namespace flashproof::sqlite {
namespace {

constexpr int kLargestValue = 512 << 20;  // bytes; the rows' own limits (text_rules.h) are smaller
constexpr std::size_t kHeaderBytes = 100;

/// A file: URI may carry options, a plain name may not; the name's own ?, # and % are escaped.
std::string uri(const std::string& path, const char* options) {
  std::string result = "file:";
  for (const char c : path) result += std::strchr("?#%", c) ? fmt::format("%{:02x}", c) : std::string(1, c);
  return result + options;
}

/// Why the machine refused, 0 if that is not known. What clearing up after an error did may have hidden it from
/// sqlite3_system_errno(); each of SQLite's files still has its own last one.
int system_error(sqlite3* handle) {
  if (handle == nullptr) return 0;
  int result = sqlite3_system_errno(handle);
  for (const int which : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    if (result != 0 || sqlite3_file_control(handle, "main", which, static_cast<void*>(&file)) != SQLITE_OK) break;
    if (file == nullptr || file->pMethods == nullptr) continue;
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &result);
  }
  return result;
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

// An absolute path: SQLite takes a name such as ":memory:" or "" for something else than a file.
Database::Database(const std::filesystem::path& file, int flags, bool immutable)
    : name_(printable(file.string(), 4096)) {
  std::string path = std::filesystem::absolute(file).string();
  if (immutable) path = uri(path, "?immutable=1");
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags | (immutable ? SQLITE_OPEN_URI : 0), nullptr);
  handle_.reset(handle);  // also after an error
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  // The file may come from anybody.
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLargestValue);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
}

std::vector<std::uint8_t> Database::header() const {
  sqlite3_file* file = nullptr;
  sqlite3_int64 size = 0;
  int code = sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  if (code == SQLITE_OK && file->pMethods != nullptr) code = file->pMethods->xFileSize(file, &size);
  std::vector<std::uint8_t> bytes(std::min<std::size_t>(kHeaderBytes, static_cast<std::size_t>(size)));
  if (code == SQLITE_OK && !bytes.empty()) {
    code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  }
  if (code != SQLITE_OK) fail(code);
  return bytes;
}

void Database::execute(const char* sql) const {
  const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::number(const char* sql) const {
  Statement statement(*this, sql);
  statement.query();
  if (!statement.step()) damaged(fmt::format("{} returns nothing", sql));
  return statement.integer(0);
}

bool Database::can_write() const { return sqlite3_db_readonly(handle(), "main") == 0; }

void Database::fail(int code) const {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw UsageError(fmt::format("{}: no flashproof archive: not an SQLite file", name_));
    case SQLITE_ERROR:  // no such table, a table that cannot be parsed
    case SQLITE_CORRUPT:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT:
      damaged(handle() != nullptr ? sqlite3_errmsg(handle()) : sqlite3_errstr(code));
    case SQLITE_BUSY:
    case SQLITE_PROTOCOL:
      throw Busy(fmt::format("{}: locked by another process for {} s", name_, kBusyMilliseconds / 1000));
    default:
      break;
  }
  if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS) damaged("shorter than it says");
  std::string reason = sqlite3_errstr(code);
  if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN) {
    if (const int error = system_error(handle()); error != 0) reason += fmt::format(": {}", std::strerror(error));
  }
  throw InfrastructureError(fmt::format("{}: archive: {}", name_, reason));
}

void Database::damaged(std::string_view how) const {
  std::string line(how);
  std::replace(line.begin(), line.end(), '\n', ' ');
  throw UsageError(fmt::format("{}: damaged archive: {}", name_, printable(line, 200)));
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) database.fail(code);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_.fail(code);
  return code == SQLITE_ROW;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }  // repeats the code that step() has reported

// SQLITE_STATIC: query() says that the values live long enough. No data() is null here: SQLite would bind NULL.
void Statement::bind(int at, const std::string& value) {
  if (sqlite3_bind_text64(statement_.get(), at, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK) {
    database_.fail(sqlite3_extended_errcode(database_.handle()));
  }
}

void Statement::bind(int at, const Bytes& value) {
  const void* data = value.empty() ? static_cast<const void*>("") : value.data();
  if (sqlite3_bind_blob64(statement_.get(), at, data, value.size(), SQLITE_STATIC) != SQLITE_OK) {
    database_.fail(sqlite3_extended_errcode(database_.handle()));
  }
}

void Statement::bind(int at, double value) { sqlite3_bind_double(statement_.get(), at, value); }
void Statement::bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_.get(), at, value); }
void Statement::bind(int at, std::uint64_t value) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  bind(at, static_cast<std::int64_t>(std::min(value, kLargest)));
}

void Statement::expect_type(int column, int type) const {
  if (sqlite3_column_type(statement_.get(), column) != type) damaged(column, "is missing or of another type");
}

void Statement::damaged(int column, const std::string& how) const {
  database_.damaged(fmt::format("{} {}", sqlite3_column_name(statement_.get(), column), how));
}

std::string Statement::text(int column, std::size_t limit) const {
  expect_type(column, SQLITE_TEXT);
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (data == nullptr) database_.fail(SQLITE_NOMEM);
  const std::string_view text(data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
  if (text.size() > limit) damaged(column, fmt::format("has {} bytes, at most {} are legal", text.size(), limit));
  if (!archive::is_clean(text)) damaged(column, fmt::format("is not UTF-8 without NUL: {}", quote(text)));
  return std::string(text);
}

Bytes Statement::blob(int column, std::size_t limit) const {
  expect_type(column, SQLITE_BLOB);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (size > limit) damaged(column, fmt::format("has {} bytes, at most {} are legal", size, limit));
  const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  if (data == nullptr && size > 0) database_.fail(SQLITE_NOMEM);
  return {data, data + size};
}

std::int64_t Statement::integer(int column) const {
  expect_type(column, SQLITE_INTEGER);
  return sqlite3_column_int64(statement_.get(), column);
}

std::uint64_t Statement::count(int column) const {
  const std::int64_t value = integer(column);
  if (value < 0) damaged(column, fmt::format("is {}, must be >= 0", value));
  return static_cast<std::uint64_t>(value);
}

double Statement::real(int column) const {
  expect_type(column, SQLITE_FLOAT);
  const double value = sqlite3_column_double(statement_.get(), column);
  if (std::isnan(value)) damaged(column, "is NaN");
  return value;
}

Transaction::Transaction(const Database& database, Kind kind) : database_(database) {
  constexpr std::array kBegin{"BEGIN DEFERRED", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"};
  database.execute(kBegin.at(static_cast<std::size_t>(kind)));
}

// Some errors have rolled back already, and then SQLite is outside a transaction again.
Transaction::~Transaction() {
  if (sqlite3_get_autocommit(database_.handle()) == 0) {
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() { database_.execute("COMMIT"); }

}  // namespace flashproof::sqlite
