#include "reports/views/html/fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "reference/problem/error.h"
#include "reports/record/record_claims.h"
#include "reports/views/html/schema.h"

namespace flashproof::html {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

[[noreturn]] void wrong(const char* key, const char* what) {
  throw UsageError(fmt::format("\"{}\" must be {}", key, what));
}

/// The code point that `text` begins with and its length; length 0: no UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[length] || surrogate || value > 0x10FFFF) return {};
  return {value, length};
}

bool hidden(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
  const bool direction =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || direction;
}

}  // namespace

void require_schema(const Json& document) {
  if (!document.is_object() || !document.contains("schema") || !document["schema"].is_string()) {
    throw UsageError(fmt::format("no report: it has no \"schema\"; this build reads {}", kReportSchema));
  }
  const std::string schema = visible(document["schema"].get_ref<const std::string&>()).substr(0, 60);
  if (schema == kReportSchema) return;
  if (!schema.starts_with("flashproof.report/")) {
    throw UsageError(fmt::format("no report: its schema is \"{}\"; this build reads {}", schema, kReportSchema));
  }
  throw UsageError(fmt::format("{}: this build reads {}; write the report again with it", schema, kReportSchema));
}

const Json& member(const Json& object, const char* key) {
  static const Json kNothing;
  if (!object.is_object()) throw UsageError(fmt::format("must be an object (\"{}\" is looked for in it)", key));
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

const Json& object_member(const Json& object, const char* key) {
  static const Json kEmpty = Json::object();
  const Json& value = member(object, key);
  if (value.is_null()) return kEmpty;
  if (!value.is_object()) wrong(key, "an object");
  return value;
}

const Json& list_member(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  const Json& value = member(object, key);
  if (value.is_null()) return kEmpty;
  if (!value.is_array()) wrong(key, "an array");
  return value;
}

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = decode(text);
    const std::size_t length = c.length == 0 ? 1 : c.length;
    if (c.length == 0 || hidden(c.value)) {
      out += kReplacement;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_null()) return "";
  if (value.is_string()) return visible(value.get_ref<const std::string&>());
  if (value.is_number() || value.is_boolean()) return value.dump();
  wrong(key, "text");
}

std::uint64_t count(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_null()) return 0;
  // A number that a program made of text in memory may be signed.
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) {
    wrong(key, "an integer, 0 or more");
  }
  return value.get<std::uint64_t>();
}

bool flag(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) wrong(key, "true or false");
  return value.get<bool>();
}

std::optional<double> number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const auto& word = value.get_ref<const std::string&>();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  wrong(key, R"(a number, "inf", "-inf" or "nan")");
}

void within(const std::string& where, const std::function<void()>& read) {
  try {
    read();
  } catch (const UsageError& e) {
    throw UsageError(where + (std::string_view(e.what()).starts_with('.') ? "" : ": ") + e.what());
  }
}

}  // namespace flashproof::html
