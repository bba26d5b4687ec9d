// Strict reading of TOML that a person wrote: every error is one line, FILE:LINE: KEY: what is legal. A key that no reader asked
// for is an error, too: a rule with a misspelt key would check nothing.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toml {
inline namespace v3 {
class table;  // NOLINT(readability-identifier-naming): toml++'s own names
class node;   // NOLINT(readability-identifier-naming)
}  // namespace v3
}  // namespace toml

namespace flashproof::compare {

class TomlTable {
 public:
  TomlTable(const toml::table& table, std::string path, std::string file);

  bool has(std::string_view key) const;
  /// Each throws UsageError for another type or a value that is not legal. Absent: nullopt.
  std::optional<std::string> text(std::string_view key, std::string_view legal);
  std::optional<bool> flag(std::string_view key);
  std::optional<double> number(std::string_view key, double least, double most);
  /// A string, or an array of strings; not empty.
  std::optional<std::vector<std::string>> texts(std::string_view key, std::string_view legal);
  std::optional<std::chrono::year_month_day> date(std::string_view key);
  /// [[key]] tables, in order; none if absent.
  std::vector<TomlTable> tables(std::string_view key);

  /// Throws UsageError if a key of the table was never asked for; names all that are legal.
  void finish() const;
  /// FILE:LINE of the table.
  std::string place() const;
  [[noreturn]] void wrong(std::string_view key, const std::string& what) const;

 private:
  const toml::node* find(std::string_view key);
  std::string at(const toml::node& node) const;

  const toml::table* table_;
  std::string path_, file_;
  std::vector<std::string> asked_;
};

/// A parsed file; its tables must not outlive it.
struct TomlFile {
  explicit TomlFile(const std::filesystem::path& file);
  TomlFile(std::string_view text, const std::string& name);
  ~TomlFile();
  TomlFile(const TomlFile&) = delete;
  TomlFile& operator=(const TomlFile&) = delete;
  TomlTable root() const;
  /// The whole file as JSON. Throws UsageError for a date and for a number that is not finite.
  std::string json() const;

 private:
  struct Parsed;
  Parsed* parsed_;
};

std::optional<std::chrono::year_month_day> parse_date(std::string_view text);
std::string to_string(std::chrono::year_month_day date);

}  // namespace flashproof::compare
