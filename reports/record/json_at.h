// A value inside a JSON document from outside, with its place: reading it as something that it is not is an error
// that says where, what was found and what is legal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace flashproof {

class JsonAt {
 public:
  /// `file` begins every message. The value must outlive this.
  JsonAt(const nlohmann::json& value, std::string file, std::string path = "")
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }
  /// "file: path".
  std::string place() const { return file_ + ": " + path_; }
  bool null() const { return value_->is_null(); }
  bool has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

  /// Throws UsageError, as all that follow, unless this is an object with this key (a list with this entry).
  JsonAt operator[](std::string_view key) const;
  JsonAt item(std::size_t index) const;
  std::size_t items() const;  // of a list

  std::uint64_t count() const;  // 0..2^64−1
  double number() const;        // a number, or "inf", "-inf", "nan"
  std::string text() const;
  bool flag() const;
  /// [a-z][a-z0-9_]*, at most 64 characters.
  std::string name() const;
  /// One of these.
  std::string text_of(std::initializer_list<std::string_view> legal) const;

  [[noreturn]] void refuse(std::string_view legal) const;

 private:
  const nlohmann::json* value_;
  std::string file_, path_;
};

/// A document from outside. Throws UsageError "<name>: <what>" as strict_json() does.
nlohmann::json parse_json(std::string_view text, const std::string& name);
/// The document in a file of at most 1 GiB. Throws UsageError as parse_json() and read_file() do, InfrastructureError.
nlohmann::json read_json(const std::string& file);

}  // namespace flashproof
