#include "reports/plugin/test/adversary_declarations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/plugin.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/problem/random.h"
#include "reference/system/error.h"
#include "reports/plugin/test/field_values.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTakes[] = {
    R"(["row_length"])", R"(["concat", "order", "unnormalised", "joins"])",
    R"(["causal", "key_length", "bias", "gqa", "window", "softcap", "alibi", "sink", "packed", "paged", "descale", "mixed"])",
    R"(["causal", "key_length", "bias", "gqa", "window", "alibi"])"};

class Declarations {
 public:
  Declarations(ProblemKind problem, Format format) : problem_(problem), format_(format) {}

  /// Left out where describe() does not take it.
  bool add(const std::string& group, Json json) {
    json["formats"] = {info(format_).name};
    AdversaryDeclaration declaration{group, json.dump(), problem_, format_};
    try {
      const DeclaredKernel declared(declaration);
      const std::vector<BackwardArithmetic>& list = declared.kernel().backward_one_of;
      const auto is_raw = [](const BackwardArithmetic& one) { return one.unit == ScoreUnit::raw; };
      if (json.contains("takes") && !list.empty() && std::ranges::all_of(list, is_raw)) {
        // Raw scores have no bound beside what is added to them: who declares them does not take it.
        auto& takes = json["takes"].get_ref<Json::array_t&>();
        std::erase(takes, Json("bias"));
        std::erase(takes, Json("alibi"));
        declaration.json = json.dump();
      }
    } catch (const UsageError&) {
      return false;
    }
    list_.push_back(std::move(declaration));
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
  /// Every preset; of a gradient, whose presets are wide, before them fields alone that say most.
  std::vector<Json> bases() const {
    if (problem_ != ProblemKind::backward) {
      std::vector<Json> list;
      for (const ArithmeticPreset& preset : arithmetic_presets(problem_)) {
        if (preset_takes(preset.name, problem_, format_)) list.emplace_back(preset.name);
      }
      return list;
    }
    std::vector<Json> list;
    list.push_back({{"exp_error", 0x1p-22}});
    for (const ArithmeticPreset& preset : backward_presets()) list.emplace_back(preset.name);
    return list;
  }
  /// As an object, to which fields can be added.
  static Json object_of(const Json& base) { return base.is_string() ? Json{{"preset", base}} : base; }

  void presets() {
    for (const Json& base : bases()) add("preset", whole(base));
    Json silent = whole("");
    silent.erase("arithmetic");
    add("preset", silent);
  }

  void one_field() {
    const std::vector<Json> all = bases();
    for (const FieldValue& field : field_values(problem_)) {
      // By the first base that the value fits beside.
      for (const Json& base : all) {
        Json arithmetic = object_of(base);
        arithmetic[field.field] = field.value;
        if (add("field", whole(arithmetic))) break;
      }
    }
    if (problem_ == ProblemKind::backward) return;
    for (const double scale : {0x1p-60, 0x1p-20, 512.0, 0x1p60}) {  // with a format that it leaves
      for (const char* format : {"f16", "bf16", "e4m3fn", "e5m2"}) {
        add("field", whole({{"preset", "unknown"}, {"weights", {{"format", format}, {"scale", scale}}}}));
      }
    }
  }

  void joint(int draws, Random& random) {
    const std::vector<FieldValue> values = field_values(problem_);
    const std::vector<Json> all = bases();
    const auto one_of = [&](const auto& list) -> const auto& {
      return list[static_cast<std::size_t>(random.integer(0, std::ssize(list) - 1))];
    };
    for (int i = 0; i < draws; ++i) {
      constexpr int kTries = 200;
      for (int tries = 0; tries < kTries; ++tries) {
        Json arithmetic = i % 2 == 0 ? attacked(random, all.front()) : object_of(one_of(all));
        for (std::int64_t more = random.integer(1, 6); more > 0; --more) {
          const FieldValue& field = one_of(values);
          arithmetic[field.field] = field.value;
        }
        if (add("joint", whole(arithmetic))) break;
      }
    }
  }

  void contracts() {
    const Json most = bases().front();
    for (const Json& base : {most, Json("unknown")}) {
      const auto with = [&](const char* field, const Json& value) {
        Json json = whole(base);
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
    for (const char* field : {"reduction", "merge_weights"}) {
      Json form = object_of(most);
      form[field] = "unshifted";
      Json json = whole(form);
      json["refuses_beyond_range"] = true;
      add("contract", json);
    }
  }

  void semantics() {
    const auto with = [&](const Json& semantics) {
      for (const Json& base : {bases().front(), Json("unknown")}) {
        Json json = whole(base);
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
          Json json = whole(bases().front());
          json.erase(name);
          json["limits"][std::string(axis)] = {0, most};
          add("limits", json);
        }
      }
    }
    Json plain = whole(bases().front());
    const Json takes = std::exchange(plain["takes"], Json::array());
    for (const char* strides : {"any", "rows", "dense"}) {
      plain["strides"] = strides;
      add("limits", plain);
    }
    for (const Json& one : takes) {
      plain["takes"] = Json::array({one});
      add("limits", plain);
    }
  }

  std::vector<AdversaryDeclaration> take() { return std::move(list_); }

 private:
  /// What the bounds of a forward problem are attacked with; of a gradient many fields beside `base`.
  Json attacked(Random& random, const Json& base) const {
    if (problem_ != ProblemKind::backward) {
      const Problem mild = attack::mild(random, problem_, format_);
      return Json::parse(arithmetic_json(attack::declaration(random, mild), 1024));
    }
    const std::vector<FieldValue> values = field_values(problem_);
    Json arithmetic = base;
    for (int more = 0; more < 8; ++more) {
      const FieldValue& field = values[static_cast<std::size_t>(random.integer(0, std::ssize(values) - 1))];
      arithmetic[field.field] = field.value;
    }
    return arithmetic;
  }

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
  if (described_.problem == ProblemKind::backward) {
    kernel_.backward_one_of = described_.backward.front();
  } else {
    kernel_.arithmetic = described_.arithmetic.front();
  }
  kernel_.unsupported = described_.refusal;
  kernel_.foreign = [](const Problem&, const RunOptions&) -> Output { throw std::logic_error("a Runner stands in"); };
}

}  // namespace flashproof
