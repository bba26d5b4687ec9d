#include "reports/plugin/test/adversary_declarations.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "kernels/plugin.h"
#include "reference/bound/arithmetic_fields.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/error/semantics_json.h"
#include "reference/model/attack_problems.h"
#include "reference/problem/error.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;
using namespace bound;

struct FieldValue {
  Json::json_pointer field;
  Json value;
};

/// Values worth declaring of every field, at any depth.
class FieldValues {
 public:
  explicit FieldValues(std::vector<FieldValue>& list, std::string path = "") : list_(list), path_(std::move(path)) {}

  void operator()(const char* name, const int&, Range legal) {
    for (const int value : {legal.least, 1, 2, 4, 8, 32, 512, legal.most}) {
      if (value >= legal.least && value <= legal.most) add(name, value);
    }
  }
  void operator()(const char* name, const double&, Interval legal) {
    for (const double value : {legal.least, 0x1p-12, 0x1p-6, 0x1p-2, 1.0, 512.0, 0x1p40, legal.below * (1 - 0x1p-50)}) {
      if (value >= legal.least && value < legal.below) add(name, value);
    }
  }
  void operator()(const char* name, const bool&) {
    add(name, false);
    add(name, true);
  }
  void operator()(const char* name, const BlockFma&) {
    for (const auto& unit : unit_names()) add(name, unit.name);
    add(name, Json{{"k", 64}, {"f", 7}, {"ofb", 7}});
  }
  template <class T>
  void operator()(const char* name, const T& field) {
    if constexpr (std::is_enum_v<T>) {
      for (const auto& known : names_of<T>()) add(name, known.name);
    } else {
      fields(field, FieldValues(list_, path_ + "/" + name));
    }
  }

 private:
  template <class T>
  void add(const char* name, const T& value) {
    list_.push_back({Json::json_pointer(path_ + "/" + name), value});
  }

  std::vector<FieldValue>& list_;
  std::string path_;
};

std::vector<FieldValue> field_values() {
  std::vector<FieldValue> list;
  constexpr Arithmetic kAny{};
  fields(kAny, FieldValues(list));
  return list;
}

constexpr std::string_view kTakes[] = {
    R"(["row_length"])", R"(["concat", "order", "unnormalised", "joins"])",
    R"(["causal", "key_length", "bias", "gqa", "window", "softcap", "alibi", "sink", "packed", "paged", "descale", "mixed"])"};

class Declarations {
 public:
  Declarations(ProblemKind problem, Format format) : problem_(problem), format_(format) {}

  /// Left out where describe() does not take it.
  bool add(const std::string& group, Json json) {
    json["formats"] = {info(format_).name};
    const AdversaryDeclaration declaration{group, json.dump(), problem_, format_};
    try {
      const DeclaredKernel kernel(declaration);
    } catch (const UsageError&) {
      return false;
    }
    list_.push_back(declaration);
    return true;
  }
  /// With all that the problem has, any strides and the flags that promise most.
  Json whole(const Json& arithmetic) const {
    return {{"arithmetic", arithmetic},
            {"takes", Json::parse(kTakes[static_cast<std::size_t>(problem_)])},
            {"strides", "any"},
            {"deterministic", true},
            {"isolates_hidden", true}};
  }
  std::vector<std::string> preset_names() const {
    std::vector<std::string> names;
    for (const ArithmeticPreset& preset : arithmetic_presets(problem_)) {
      if (preset_takes(preset.name, problem_, format_)) names.emplace_back(preset.name);
    }
    return names;
  }

  void presets() {
    for (const std::string& name : preset_names()) add("preset", whole(name));
    Json silent = whole("");
    silent.erase("arithmetic");
    add("preset", silent);
  }

  void one_field() {
    const std::vector<std::string> names = preset_names();
    for (const FieldValue& field : field_values()) {
      // By the first preset that the value fits beside.
      for (const std::string& name : names) {
        Json arithmetic{{"preset", name}};
        arithmetic[field.field] = field.value;
        if (add("field", whole(arithmetic))) break;
      }
    }
    for (const double scale : {0x1p-60, 0x1p-20, 512.0, 0x1p60}) {  // with a format that it leaves
      for (const char* format : {"f16", "bf16", "e4m3fn", "e5m2"}) {
        add("field", whole({{"preset", "unknown"}, {"weights", {{"format", format}, {"scale", scale}}}}));
      }
    }
  }

  void joint(int draws, Random& random) {
    const std::vector<FieldValue> values = field_values();
    const std::vector<std::string> names = preset_names();
    for (int i = 0; i < draws; ++i) {
      constexpr int kTries = 200;
      for (int tries = 0; tries < kTries; ++tries) {
        Json arithmetic;
        if (i % 2 == 0) {
          const Problem mild = attack::mild(random, problem_, format_);
          arithmetic = Json::parse(arithmetic_json(attack::declaration(random, mild), 1024));
        } else {
          arithmetic["preset"] = names[static_cast<std::size_t>(random.integer(0, std::ssize(names) - 1))];
        }
        for (std::int64_t more = random.integer(1, 6); more > 0; --more) {
          const FieldValue& field = values[static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1))];
          arithmetic[field.field] = field.value;
        }
        if (add("joint", whole(arithmetic))) break;
      }
    }
  }

  void contracts() {
    for (const std::string& name : {preset_names().front(), std::string("unknown")}) {
      const auto with = [&](const char* field, const Json& value) {
        Json json = whole(name);
        json[field] = value;
        add("contract", json);
      };
      with("returns", "o");
      with("returns", "lse");
      with("deterministic", false);
      with("batch_invariant", false);
      with("isolates_hidden", false);
      with("refuses_beyond_range", true);
      with("overflow", "saturate");
    }
    // Forms that may refuse a range.
    for (const Json& form : {Json{{"preset", preset_names().front()}, {"reduction", "unshifted"}},
                             Json{{"preset", preset_names().front()}, {"merge_weights", "unshifted"}}}) {
      Json json = whole(form);
      json["refuses_beyond_range"] = true;
      add("contract", json);
    }
  }

  void semantics() {
    const auto with = [&](const Json& semantics) {
      for (const std::string& name : {preset_names().front(), std::string("unknown")}) {
        Json json = whole(name);
        std::erase(json["takes"].get_ref<Json::array_t&>(), Json("alibi"));
        json["semantics"] = semantics;
        add("semantics", json);
      }
    };
    Json all = Json::object();
    for (const SemanticsField& field : semantics_fields()) {
      for (const std::string_view value : field.legal) with({{std::string(field.name), value}});
      if (field.of(problem_)) all[std::string(field.name)] = field.legal.back();
    }
    with(all);  // `any` wherever that is legal
    for (const SemanticsPreset& preset : semantics_presets()) {
      if (preset.problem == problem_) with(preset.name);
    }
  }

  void limits() {
    constexpr std::string_view kAxes[] = {"rows",    "cols",     "states",   "batch", "q_heads",
                                          "k_heads", "q_length", "k_length", "d",     "dv"};
    for (const std::string_view axis : kAxes) {
      for (const int most : {1, 2}) {
        for (const char* name : {"", "takes"}) {  // with and without features
          Json json = whole(preset_names().front());
          json.erase(name);
          json["limits"][std::string(axis)] = {0, most};
          add("limits", json);
        }
      }
    }
    Json plain = whole(preset_names().front());
    plain.erase("takes");
    add("limits", plain);
    plain["strides"] = "dense";
    add("limits", plain);
  }

  std::vector<AdversaryDeclaration> take() { return std::move(list_); }

 private:
  ProblemKind problem_;
  Format format_;
  std::vector<AdversaryDeclaration> list_;
};

}  // namespace

std::vector<AdversaryDeclaration> adversary_declarations(ProblemKind problem, Format format, int draws,
                                                         std::uint64_t seed) {
  Declarations list(problem, format);
  Random random(seed, static_cast<std::uint64_t>(problem) * 16 + static_cast<std::uint64_t>(format));
  list.presets();
  list.one_field();
  list.joint(draws, random);
  list.contracts();
  list.semantics();
  list.limits();
  return list.take();
}

DeclaredKernel::DeclaredKernel(const AdversaryDeclaration& declaration)
    : described_(describe({std::string(flashproof::name(declaration.problem)) + ".adversary.test",
                           static_cast<int>(declaration.problem), FLASHPROOF_CPU, declaration.json})) {
  kernel_.id = described_.id;
  kernel_.problem = described_.problem;
  kernel_.form = Form::hardened;
  kernel_.formats = described_.formats;
  kernel_.contract = described_.contract;
  kernel_.arithmetic = described_.arithmetic.front();
  kernel_.unsupported = described_.refusal;
  kernel_.foreign = [](const Problem&, const RunOptions&) -> Output { throw std::logic_error("a Runner stands in"); };
}

}  // namespace flashproof
