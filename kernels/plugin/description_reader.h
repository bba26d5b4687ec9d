// The JSON of a description, field by field. Every error is a UsageError in one line that names the kernel and the field.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/plugin/takes.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof {

class DescriptionReader {
 public:
  using Json = nlohmann::json;

  DescriptionReader(std::string id, const std::string& text) : id_(std::move(id)) {
    if (text.size() > kLongest) refuse(fmt::format("description: legal: at most {} bytes", kLongest));
    try {
      json_ = strict_json<Json>(text, kDeepest);
    } catch (const UsageError& error) {
      refuse(std::string("description: ") + error.what());
    }
    if (!json_.is_object()) refuse("description: legal: a JSON object");
    constexpr std::array<std::string_view, 13> kFields = {
        "formats",  "arithmetic",    "takes",           "limits",   "strides",         "alignment",
        "returns",  "deterministic", "batch_invariant", "overflow", "isolates_hidden", "refuses_beyond_range",
        "semantics"};
    for (const auto& [key, value] : json_.items()) known("description: field", key, kFields);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError("kernel " + printable(id_) + ": " + what);
  }

  /// Index of the word among the legal ones.
  template <class Names>
  std::size_t known(const std::string& what, const std::string& word, const Names& names) const {
    const auto found = std::ranges::find(names, std::string_view(word));
    if (found == names.end()) {
      const std::vector<std::string_view> list(names.begin(), names.end());
      const auto near = near_matches(word, list);
      refuse(fmt::format("unknown {} {}; {}legal: {}", what, quote(word),
                         near.empty() ? "" : fmt::format("near: {}; ", fmt::join(near, ", ")), fmt::join(list, ", ")));
    }
    return static_cast<std::size_t>(found - names.begin());
  }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  std::string word(const std::string& field, const Json& json) const {
    if (!json.is_string() || json.get_ref<const std::string&>().size() > kLongest) refuse(field + ": legal: a text");
    return json.get<std::string>();
  }
  std::vector<std::string> words(const char* key) const {
    const Json* json = find(key);
    if (json == nullptr) return {};
    if (!json->is_array() || json->size() > 64) refuse(std::string(key) + ": legal: an array of at most 64 texts");
    std::vector<std::string> list;
    for (const Json& one : *json) list.push_back(word(key, one));
    return list;
  }
  bool flag(const char* key, bool absent = false) const {
    const Json* json = find(key);
    if (json != nullptr && !json->is_boolean()) refuse(std::string(key) + ": legal: true or false");
    return json == nullptr ? absent : json->get<bool>();
  }
  template <class Names>
  std::size_t choice(const char* key, const Names& names) const {
    const Json* json = find(key);
    return json == nullptr ? 0 : known(key, word(key, *json), names);
  }
  std::int64_t count(const std::string& field, const Json& json, std::int64_t least) const {
    if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > kMaxExtent) ||
        json.get<std::int64_t>() < least) {
      refuse(fmt::format("{}: legal: integers in {}..{}", field, least, kMaxExtent));
    }
    return json.get<std::int64_t>();
  }
  /// Bytes; 1 where the description says nothing.
  std::size_t alignment() const {
    const Json* json = find("alignment");
    const std::int64_t bytes = json == nullptr ? 1 : count("alignment", *json, 1);
    if (bytes > kMostPromised || !std::has_single_bit(static_cast<std::uint64_t>(bytes))) {
      refuse(fmt::format("alignment: legal: a power of 2 in 1..{}", kMostPromised));
    }
    return static_cast<std::size_t>(bytes);
  }
  std::vector<Limit> limits(ProblemKind problem) const {
    const Json* json = find("limits");
    if (json == nullptr) return {};
    if (!json->is_object()) refuse("limits: legal: an object");
    const std::vector<Axis> axes = axes_of(problem);
    std::vector<std::string_view> names;
    names.reserve(axes.size());
    for (const Axis axis : axes) names.push_back(kAxes[static_cast<std::size_t>(axis)]);
    std::vector<Limit> list;
    for (const auto& [axis, range] : json->items()) {
      const std::string field = "limits." + printable(axis);
      const std::size_t index = known("limits: axis", axis, names);
      if (axes[index] == Axis::dv && forward_kind(problem) == ProblemKind::attention && range == "d") {
        list.push_back({Axis::dv, 0, 0, 1, true});
        continue;
      }
      if (!range.is_array() || range.size() < 2 || range.size() > 3) {
        refuse(field + ": legal: [least, most] or [least, most, step]" +
               (axes[index] == Axis::dv ? ", of attention \"d\"" : ""));
      }
      const Limit limit{axes[index], count(field, range[0], 0), count(field, range[1], 0),
                        range.size() == 3 ? count(field, range[2], 1) : 1};
      if (limit.least > limit.most) refuse(field + ": legal: least <= most");
      if (limit.most < limit.step || limit.most / limit.step * limit.step < limit.least) {
        refuse(fmt::format("{}: {}..{} holds no multiple of {} above 0, legal: limits that do", field, limit.least,
                           limit.most, limit.step));
      }
      list.push_back(limit);
    }
    return list;
  }

 private:
  static constexpr std::size_t kLongest = 65536;
  static constexpr int kDeepest = 6;
  static constexpr std::int64_t kMostPromised = 256;  // bytes: all that memory of a device has for certain

  std::string id_;
  Json json_;
};

}  // namespace flashproof
