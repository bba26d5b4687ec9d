#include "reports/record/json_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"
#include "reference/system/text_place.h"

namespace flashproof {

using nlohmann::json;

void JsonAt::refuse(std::string_view legal) const {
  std::string found = value_->dump(-1, ' ', true, json::error_handler_t::replace);
  if (value_->is_structured()) found = value_->is_array() ? "a list" : "an object";
  throw UsageError(fmt::format("{}: {} is {}, legal is {}", one_line(file_), path_.empty() ? "the document" : path_,
                               printable(found), legal));
}

JsonAt JsonAt::operator[](std::string_view key) const {
  if (!value_->is_object()) refuse("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw UsageError(fmt::format("{}: {} has no \"{}\"", one_line(file_), path_.empty() ? "the document" : path_, key));
  }
  return {*found, file_, fmt::format("{}/{}", path_, printable(key))};
}

JsonAt JsonAt::item(std::size_t index) const { return {(*value_)[index], file_, fmt::format("{}/{}", path_, index)}; }

std::size_t JsonAt::items() const {
  if (!value_->is_array()) refuse("a list");
  return value_->size();
}

std::uint64_t JsonAt::count() const {
  if (!value_->is_number_unsigned()) refuse("a whole number, 0 or more");
  return value_->get<std::uint64_t>();
}

double JsonAt::number() const {
  if (value_->is_number()) return value_->get<double>();
  if (*value_ == "inf") return std::numeric_limits<double>::infinity();
  if (*value_ == "-inf") return -std::numeric_limits<double>::infinity();
  if (*value_ == "nan") return std::numeric_limits<double>::quiet_NaN();
  refuse("a number, \"inf\", \"-inf\" or \"nan\"");
}

std::string JsonAt::text() const {
  if (!value_->is_string()) refuse("a text");
  return value_->get<std::string>();
}

bool JsonAt::flag() const {
  if (!value_->is_boolean()) refuse("true or false");
  return value_->get<bool>();
}

std::string JsonAt::name() const {
  std::string result = value_->is_string() ? value_->get<std::string>() : "";
  if (!is_name(result)) refuse("a name of a-z, 0-9 and _");
  return result;
}

std::string JsonAt::text_of(std::initializer_list<std::string_view> legal) const {
  const std::string found = value_->is_string() ? value_->get<std::string>() : "\n";
  if (std::ranges::find(legal, found) != legal.end()) return found;
  refuse(fmt::format("one of \"{}\"", fmt::join(legal, "\", \"")));
}

json parse_json(std::string_view text, const std::string& name) {
  try {
    return strict_json<json>(text);
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    throw UsageError(fmt::format("{}: {}{}", one_line(name), what,
                                 what.starts_with("no JSON") ? ": the file is truncated, or not a report" : ""));
  }
}

json read_json(const std::string& file) { return parse_json(read_file(file, std::uint64_t{1} << 30), file); }

}  // namespace flashproof
