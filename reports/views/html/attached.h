// Members of the tables that a report carries along (reports/run/attachments.h): what is missing, or of another type, was not
// measured.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace flashproof::html {

using Json = nlohmann::json;

/// A null for a member that is missing.
inline const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}
/// A number is written as text.
inline std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}
inline std::uint64_t count(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}
inline bool flag(const Json& object, const char* key) { return member(object, key) == true; }
inline std::optional<double> number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

}  // namespace flashproof::html
