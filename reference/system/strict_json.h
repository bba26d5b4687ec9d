// The one door for JSON from outside: everything that walks a document recurses, so a deep one would end the process; and of two
// entries of one name the parser would silently keep the last.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reference/system/text_place.h"

namespace flashproof {

inline constexpr std::size_t kDeepestJson = 64;  // lists and objects within each other; a report has ten

/// Json: nlohmann::json or ordered_json. Throws UsageError: "no JSON at line 2, column 3 ...", "nested deeper than ...", "... is there
/// twice in one object", "a number is beyond the range of a double".
template <class Json>
Json strict_json(std::string_view text, std::size_t deepest = kDeepestJson) {
  std::vector<std::unordered_set<std::string>> open;  // the names so far of every object around
  const auto watch = [&](int /*depth*/, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (open.size() == deepest) {
        throw UsageError(fmt::format("nested deeper than {} levels, which no file of this program is", deepest));
      }
      open.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      open.pop_back();
    } else if (event == Event::key && !open.back().insert(parsed.template get<std::string>()).second) {
      throw UsageError(quote(parsed.template get<std::string>()) + " is there twice in one object");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::parse_error& e) {
    throw UsageError("no JSON at " + place_in(text, e.byte));
  } catch (const typename Json::exception&) {
    throw UsageError("a number is beyond the range of a double");
  }
}

}  // namespace flashproof
