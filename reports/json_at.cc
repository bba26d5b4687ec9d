#include "reports/json_at.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reference/problem/text_place.h"

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

namespace {

/// Follows the parser: everything here that walks a document recurses, so a deep one would end the process; and of two entries of
/// one name the parser would silently keep the last.
class Strict {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (open_.size() == kDeepestJson) {
          throw UsageError(fmt::format("nested deeper than {} levels, which no file of this program is", kDeepestJson));
        }
        open_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        open_.pop_back();
        break;
      case json::parse_event_t::key:
        if (!open_.back().insert(parsed.get_ref<const std::string&>()).second) {
          throw UsageError(printable(parsed.dump(-1, ' ', true, json::error_handler_t::replace)) +
                           " is there twice in one object");
        }
        break;
      case json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  std::vector<std::unordered_set<std::string>> open_;  // the names so far of every object around
};

}  // namespace

json parse_json(std::string_view text, const std::string& name) {
  Strict strict;
  try {
    return json::parse(text, std::ref(strict));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", one_line(name), e.what()));
  } catch (const json::parse_error& e) {
    throw UsageError(fmt::format("{}: no JSON at {}: the file is truncated, or not a report", one_line(name),
                                 place_in(text, e.byte)));
  } catch (const json::exception&) {
    throw UsageError(fmt::format("{}: no JSON: it holds a number beyond the range of a double", one_line(name)));
  }
}

json read_json(const std::string& file) {
  constexpr std::uintmax_t kMost = std::uintmax_t{1} << 30;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw UsageError(one_line(file) + ": must be a regular file (" +
                     (error ? error.message() : std::string("it is none")) + ")");
  }
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > kMost)
    throw UsageError(fmt::format("{}: {} bytes, at most {} are read", one_line(file), size, kMost));
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || error) throw InfrastructureError(one_line(file) + ": cannot be read");
  return parse_json(text.str(), file);
}

}  // namespace flashproof
