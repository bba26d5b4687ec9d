// Members of JSON objects that come from a file: one that is missing, or null, counts as not measured; one of the wrong type is a
// UsageError that names it. Text is made fit to be shown.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace flashproof::html {

using Json = nlohmann::json;

/// A null for a member that is missing. The owner must be an object.
const Json& member(const Json& object, const char* key);
/// The members' values; an empty object or array if it is missing.
const Json& object_member(const Json& object, const char* key);
const Json& list_member(const Json& object, const char* key);

/// Control characters, and those that turn the direction of text, become U+FFFD, as does what is no UTF-8: a replay line from a
/// file must not hold a line break that a terminal would take for "run it".
std::string visible(std::string_view text);

/// visible(); "" if it is missing. A number or a boolean is written as text.
std::string text(const Json& object, const char* key);
/// 0 if it is missing.
std::uint64_t count(const Json& object, const char* key);
/// False if it is missing.
bool flag(const Json& object, const char* key);
/// Numbers and the strings "inf", "-inf", "nan".
std::optional<double> number(const Json& object, const char* key);

/// Runs `read`; a UsageError gets `where` in front.
void within(const std::string& where, const std::function<void()>& read);

}  // namespace flashproof::html
