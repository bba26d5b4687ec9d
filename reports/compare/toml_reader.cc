#include "reports/compare/toml_reader.h"

#include <fmt/format.h>
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof::compare {

struct TomlFile::Parsed {
  std::string name;
  toml::table table;
};

namespace {

std::string read_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw UsageError(printable(file.string(), 200) + ": must be a regular file");
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::file_size(file, error) > 0) text << in.rdbuf();  // of nothing, << fails
  if (!in || error) throw InfrastructureError(printable(file.string(), 200) + ": cannot be read");
  return text.str();
}

toml::table parse(std::string_view text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw UsageError(fmt::format("{}:{}: not TOML: {}", name, e.source().begin.line, one_line(e.description())));
  }
}

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return quote(node.ref<std::string>());
    case toml::node_type::integer:
      return fmt::format("{}", node.ref<std::int64_t>());
    case toml::node_type::floating_point:
      return fmt::format("{}", node.ref<double>());
    case toml::node_type::boolean:
      return node.ref<bool>() ? "true" : "false";
    default:
      return "a date or a time";
  }
}

}  // namespace

TomlFile::TomlFile(const std::filesystem::path& file) : TomlFile(read_text(file), printable(file.string(), 200)) {}

TomlFile::TomlFile(std::string_view text, const std::string& name) : parsed_(new Parsed{name, parse(text, name)}) {}

TomlFile::~TomlFile() { delete parsed_; }

TomlTable TomlFile::root() const { return {parsed_->table, "", parsed_->name}; }

TomlTable::TomlTable(const toml::table& table, std::string path, std::string file)
    : table_(&table), path_(std::move(path)), file_(std::move(file)) {}

std::string TomlTable::at(const toml::node& node) const {
  return fmt::format("{}:{}", file_, node.source().begin.line);
}

std::string TomlTable::place() const { return at(*table_); }

void TomlTable::wrong(std::string_view key, const std::string& what) const {
  const toml::node* node = table_->get(key);
  throw UsageError(fmt::format("{}: {}{}: {}", node != nullptr ? at(*node) : place(), path_, key, what));
}

const toml::node* TomlTable::find(std::string_view key) {
  asked_.emplace_back(key);
  return table_->get(key);
}

bool TomlTable::has(std::string_view key) const { return table_->get(key) != nullptr; }

std::optional<std::string> TomlTable::text(std::string_view key, std::string_view legal) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_string() || node->ref<std::string>().empty()) {
    wrong(key, fmt::format("must be {}, not {}", legal, type_of(*node)));
  }
  return node->ref<std::string>();
}

std::optional<bool> TomlTable::flag(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_boolean()) wrong(key, "must be true or false, not " + type_of(*node));
  return node->ref<bool>();
}

std::optional<double> TomlTable::number(std::string_view key, double least, double most) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value<double>();  // of a number, whole or not; of anything else nothing
  if (!node->is_number() || !value || !(*value >= least && *value <= most)) {
    wrong(key, fmt::format("must be a number in {}..{}, not {}", least, most, type_of(*node)));
  }
  return value;
}

std::optional<std::vector<std::string>> TomlTable::texts(std::string_view key, std::string_view legal) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const std::string must = fmt::format("must be {}, or an array of them", legal);
  std::vector<std::string> list;
  const auto add = [&](const toml::node& one) {
    if (!one.is_string() || one.ref<std::string>().empty()) wrong(key, fmt::format("{}, not {}", must, type_of(one)));
    list.push_back(one.ref<std::string>());
  };
  if (const toml::array* array = node->as_array()) {
    for (const toml::node& one : *array) add(one);
    if (list.empty()) wrong(key, must + ", not an empty one");
  } else {
    add(*node);
  }
  return list;
}

std::optional<std::chrono::year_month_day> TomlTable::date(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (!node->is_date()) wrong(key, "must be a date like 2026-12-31, without quotes, not " + type_of(*node));
  const toml::date& d = node->ref<toml::date>();
  return std::chrono::year_month_day(std::chrono::year(d.year), std::chrono::month(d.month), std::chrono::day(d.day));
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
  const toml::node* node = find(key);
  std::vector<TomlTable> list;
  if (node == nullptr) return list;
  const toml::array* array = node->as_array();
  const std::string must = fmt::format("must be tables, each headed [[{}{}]]", path_, key);
  if (array == nullptr) wrong(key, fmt::format("{}, not {}", must, type_of(*node)));
  for (const toml::node& one : *array) {
    const toml::table* table = one.as_table();
    if (table == nullptr) wrong(key, fmt::format("{}, not {}", must, type_of(one)));
    list.emplace_back(*table, fmt::format("{}{}.", path_, key), file_);
  }
  return list;
}

void TomlTable::finish() const {
  for (const auto& [key, node] : *table_) {
    if (std::ranges::find(asked_, key.str()) != asked_.end()) continue;
    std::string legal;
    for (const std::string& name : asked_) legal += (legal.empty() ? "" : ", ") + name;
    throw UsageError(fmt::format("{}: {}{}: unknown key; legal: {}", at(node), path_, printable(key.str()), legal));
  }
}

std::optional<std::chrono::year_month_day> parse_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t count) -> std::optional<int> {
    int value = 0;
    for (const char c : text.substr(from, count)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = 10 * value + (c - '0');
    }
    return value;
  };
  const auto year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  return date.ok() ? std::optional(date) : std::nullopt;
}

std::string to_string(std::chrono::year_month_day date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

}  // namespace flashproof::compare
