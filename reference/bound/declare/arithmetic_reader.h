// Reads declarations from JSON, and writes them, by the lists of their fields (arithmetic_fields.h). A text may come from anywhere: every field is
// checked before it is used. Errors: UsageError "arithmetic: FIELD: legal: ...".
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/bound/declare/arithmetic_fields.h"
#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof::bound {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMostBytes = 1 << 16;
inline constexpr int kDeepest = 4;  // a declaration, a gradient's sum, its products, their unit

[[noreturn]] inline void refuse(const std::string& path, const std::string& legal) {
  throw UsageError(fmt::format("arithmetic: {}: legal: {}", path, legal));
}

/// "a, b, c", or with what was probably meant in front.
inline std::string one_of(std::string_view wrong, const std::vector<std::string_view>& names) {
  return fmt::format("one of {}{}", fmt::join(names, ", "), did_you_mean(wrong, names));
}

template <class E>
std::vector<std::string_view> name_list(std::span<const Name<E>> names) {
  std::vector<std::string_view> list;
  for (const Name<E>& name : names) list.push_back(name.name);
  return list;
}

template <class E>
E named(const Json& json, const std::string& path, std::span<const Name<E>> names) {
  if (!json.is_string()) refuse(path, one_of("", name_list(names)));
  const auto& text = json.get_ref<const std::string&>();
  for (const Name<E>& name : names) {
    if (name.name == text) return name.value;
  }
  throw UsageError(
      fmt::format("arithmetic: {}: {} is none, legal: {}", path, quote(text), one_of(text, name_list(names))));
}

/// Puts the members of an object into the fields of those names; the others keep what they have.
class FieldReader {
 public:
  FieldReader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) refuse(path_, "an object");
  }

  void operator()(const char* name, int& field, Range legal) {
    read(name, [&](const Json& json, const std::string& path) {
      const bool fits =
          json.is_number_integer() && json.get<double>() >= legal.least && json.get<double>() <= legal.most;
      if (!fits) refuse(path, fmt::format("an integer in {}..{}", legal.least, legal.most));
      field = json.get<int>();
    });
  }
  void operator()(const char* name, double& field, Interval legal) {
    read(name, [&](const Json& json, const std::string& path) {
      const double value = json.is_number() ? json.get<double>() : std::nan("");
      if (!(value >= legal.least && value < legal.below)) {
        refuse(path, fmt::format("a number x, {} <= x < {}", legal.least, legal.below));
      }
      field = value;
    });
  }
  void operator()(const char* name, bool& field) {
    read(name, [&](const Json& json, const std::string& path) {
      if (!json.is_boolean()) refuse(path, "true or false");
      field = json.get<bool>();
    });
  }
  void operator()(const char* name, BlockFma& field) {
    read(name, [&](const Json& json, const std::string& path) {
      if (!json.is_object()) {
        field = named(json, path, unit_names());
        return;
      }
      FieldReader unit(json, path);
      unit_fields(field, unit);
      unit.end();
    });
  }
  template <class T>
  void operator()(const char* name, T& field) {
    read(name, [&](const Json& json, const std::string& path) {
      if constexpr (std::is_enum_v<T>) {
        field = named(json, path, names_of<T>());
      } else {
        FieldReader members(json, path);
        fields(field, members);
        members.end();
      }
    });
  }

  bool has(const char* name) const { return object_.contains(name); }
  /// A member that is no field.
  void allow(const char* name) { known_.emplace_back(name); }
  /// Every member must have been a field.
  void end() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::ranges::find(known_, key) != known_.end()) continue;
      const std::string place = path_.empty() ? "" : path_ + ": ";
      throw UsageError(fmt::format("arithmetic: {}no field {}, legal: {}", place, quote(key), one_of(key, known_)));
    }
  }

 private:
  template <class Act>
  void read(const char* name, Act&& act) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    if (found != object_.end()) act(*found, path_.empty() ? name : path_ + "." + name);
  }

  const Json& object_;
  std::string path_;
  std::vector<std::string_view> known_;
};

/// Puts every field into an object, as FieldReader reads it.
class FieldWriter {
 public:
  explicit FieldWriter(Json& object) : object_(object) {}

  template <class T, class Legal>
  void operator()(const char* name, const T& field, Legal /*legal*/) {
    object_[name] = field;
  }
  void operator()(const char* name, const bool& field) { object_[name] = field; }
  void operator()(const char* name, const BlockFma& field) {
    for (const auto& unit : unit_names()) {
      if (unit.value == field) {
        object_[name] = unit.name;
        return;
      }
    }
    Json json;
    unit_fields(field, FieldWriter(json));
    object_[name] = std::move(json);
  }
  template <class T>
  void operator()(const char* name, const T& field) {
    if constexpr (std::is_enum_v<T>) {
      for (const auto& known : names_of<T>()) {
        if (known.value == field) object_[name] = known.name;
      }
    } else {
      Json json;
      fields(field, FieldWriter(json));
      object_[name] = std::move(json);
    }
  }

 private:
  Json& object_;
};

/// Whether it is meant as an object of fields, and not as a preset's name.
inline bool is_object(std::string_view text) {
  if (text.size() > kMostBytes) throw UsageError(fmt::format("arithmetic: legal: at most {} bytes", kMostBytes));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// Of a text that is_object(). Throws UsageError for what is no JSON.
inline Json parse_object(std::string_view text) {
  try {
    return strict_json<Json>(text, kDeepest);
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    throw UsageError(
        fmt::format("arithmetic: {}{}", what,
                    what.starts_with("no JSON") ? ": legal: a preset's name, or an object of fields" : ""));
  }
}

}  // namespace flashproof::bound
