// Declarations as JSON. A text may come from anywhere: every field is checked before it is used.
#include "reference/bound/arithmetic_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "reference/bound/arithmetic_fields.h"
#include "reference/bound/bound.h"
#include "reference/bound/named_presets.h"
#include "reference/problem/error.h"
#include "reference/problem/near_matches.h"
#include "reference/problem/strict_json.h"
#include "reference/problem/text.h"
#include "reference/problem/text_place.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;
using namespace bound;

constexpr std::size_t kMostBytes = 1 << 16;
constexpr int kDeepest = 3;  // a declaration, its products, their unit

[[noreturn]] void refuse(const std::string& path, const std::string& legal) {
  throw UsageError(fmt::format("arithmetic: {}: legal: {}", path, legal));
}

/// "a, b, c", or with what was probably meant in front.
std::string one_of(std::string_view wrong, const std::vector<std::string_view>& names) {
  const auto near = near_matches(wrong, names);
  const std::string all = fmt::format("one of {}", fmt::join(names, ", "));
  return near.empty() ? all : fmt::format("{} (did you mean {}?)", all, fmt::join(near, " or "));
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
class Reader {
 public:
  Reader(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
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
      Reader unit(json, path);
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
        Reader members(json, path);
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

class Writer {
 public:
  explicit Writer(Json& object) : object_(object) {}

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
    unit_fields(field, Writer(json));
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
      fields(field, Writer(json));
      object_[name] = std::move(json);
    }
  }

 private:
  Json& object_;
};

Json parse(std::string_view text) {
  try {
    return strict_json<Json>(text, kDeepest);
  } catch (const UsageError& e) {
    const std::string_view what = e.what();
    throw UsageError(
        fmt::format("arithmetic: {}{}", what,
                    what.starts_with("no JSON") ? ": legal: a preset's name, or an object of fields" : ""));
  }
}

Arithmetic read_object(const Json& json, ProblemKind problem, Format inputs) {
  Reader reader(json, "");
  reader.allow("preset");
  Arithmetic result{};
  if (reader.has("preset")) {
    const Json& name = json["preset"];
    if (!name.is_string()) refuse("preset", "a name");
    result = named_preset(name.get_ref<const std::string&>(), problem, inputs);
  } else if (!reader.has("reduction")) {
    throw UsageError("arithmetic: reduction: missing, legal: it, or a preset");
  }
  fields(result, reader);
  reader.end();
  return result;
}

}  // namespace

Arithmetic parse_arithmetic(std::string_view text, ProblemKind problem, Format inputs) {
  if (text.size() > kMostBytes) throw UsageError(fmt::format("arithmetic: legal: at most {} bytes", kMostBytes));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return named_preset(text, problem, inputs);
  const Arithmetic result = read_object(parse(text), problem, inputs);
  try {
    require_declaration(problem, result);
  } catch (const std::invalid_argument& e) {
    throw UsageError(e.what());
  }
  return result;
}

std::string arithmetic_json(const Arithmetic& arithmetic, std::int64_t columns) {
  Arithmetic a = arithmetic;
  if (a.lanes == 0 && a.lanes_of != nullptr) {
    if (columns <= 0) throw UsageError("arithmetic: lanes: a function of the columns, legal: columns of 1 or more");
    a.lanes = a.lanes_of(columns);
  }
  Json json;
  fields(std::as_const(a), Writer(json));
  return json.dump();
}

std::string difference_json(const Arithmetic& declared, const Arithmetic& other) {
  constexpr std::int64_t kColumns = 1024;  // where lanes_of asks for them
  const Json before = Json::parse(arithmetic_json(declared, kColumns));
  const Json after = Json::parse(arithmetic_json(other, kColumns));
  std::string text;
  for (const auto& [field, value] : after.items()) {
    if (before.contains(field) && before[field] == value) continue;
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", field, value.dump());
  }
  return text;
}

}  // namespace flashproof
