// A text may come from anywhere: every field is checked before it is used.
#include "reference/bound/backward/arithmetic_json.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "reference/bound/backward/arithmetic_fields.h"
#include "reference/bound/backward/bound.h"
#include "reference/bound/declare/arithmetic_reader.h"

namespace flashproof {
namespace {

/// Of a pass that sums D from P of its own there is no bound for o and lse that are inputs.
bool reads_forward(const BackwardArithmetic& a) { return a.delta == DeltaSum::output; }

std::vector<BackwardArithmetic> preset(std::string_view name, Format inputs) {
  std::vector<BackwardArithmetic> list = gradient_preset(name, inputs).backward;
  std::erase_if(list, [](const BackwardArithmetic& a) { return !reads_forward(a); });
  if (!list.empty()) return list;
  std::string names;
  for (const ArithmeticPreset& one : backward_presets()) names += (names.empty() ? "" : ", ") + std::string(one.name);
  throw UsageError(
      fmt::format("arithmetic: preset {}: of a forward and a backward pass in one, legal here: {}", name, names));
}

bound::Json as_json(const BackwardArithmetic& a) {
  bound::Json json;
  bound::fields(a, bound::FieldWriter(json));
  return json;
}

/// The members of the object in place of the fields of that name, in each of the list. What then is the same stands there once.
void put_fields(std::vector<BackwardArithmetic>& list, const bound::Json& json, Format inputs) {
  for (BackwardArithmetic& one : list) {
    bound::FieldReader reader(json, "");
    reader.allow("preset");
    bound::fields(one, reader);
    reader.end();
    try {
      require_declaration(one, inputs, inputs);
    } catch (const std::invalid_argument& e) {
      throw UsageError(e.what());
    }
  }
  std::vector<BackwardArithmetic> distinct;
  for (const BackwardArithmetic& one : list) {
    if (std::ranges::find(distinct, one) == distinct.end()) distinct.push_back(one);
  }
  list = std::move(distinct);
}

/// nullptr: it names none.
const std::string* preset_name(const bound::Json& json) {
  const auto name = json.find("preset");
  if (name == json.end()) return nullptr;
  if (!name->is_string()) bound::refuse("preset", "a name");
  return &name->get_ref<const std::string&>();
}

/// What must be said beside the preset, for all that it stands for to be this one; nullopt: it never is.
std::optional<bound::Json> beside(const ArithmeticPreset& preset, const BackwardArithmetic& wanted, Format inputs) {
  std::vector<BackwardArithmetic> list;
  try {
    list = gradient_preset(preset.name, inputs).backward;
  } catch (const UsageError&) {  // of other formats
    return std::nullopt;
  }
  if (reads_forward(wanted)) std::erase_if(list, [](const BackwardArithmetic& a) { return !reads_forward(a); });
  if (list.empty()) return std::nullopt;
  const bound::Json meant = as_json(wanted);
  bound::Json members = bound::Json::object();
  for (const BackwardArithmetic& one : list) {
    if (one.delta != wanted.delta) return std::nullopt;  // no field
    const bound::Json has = as_json(one);
    for (const auto& [field, value] : meant.items()) {
      if (has[field] != value) members[field] = value;
    }
  }
  return members;
}

}  // namespace

std::string declaring_members(const BackwardArithmetic& arithmetic, Format inputs) {
  bound::Json least = as_json(arithmetic);
  for (const ArithmeticPreset& preset : gradient_presets()) {
    const std::optional<bound::Json> members = beside(preset, arithmetic, inputs);
    if (!members || members->size() + 1 >= least.size()) continue;
    least = {{"preset", preset.name}};
    least.update(*members);
  }
  std::string text;
  for (const auto& [field, value] : least.items()) {
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", field, value.dump());
  }
  return text;
}

std::vector<ArithmeticPreset> backward_presets() {
  std::vector<ArithmeticPreset> list;
  for (const ArithmeticPreset& one : gradient_presets()) {
    if (std::ranges::any_of(gradient_preset(one.name, Format::f16).backward, reads_forward)) list.push_back(one);
  }
  return list;
}

std::vector<BackwardArithmetic> parse_backward_arithmetic(std::string_view text, Format inputs) {
  if (!bound::is_object(text)) return preset(text, inputs);
  const bound::Json json = bound::parse_object(text);
  const std::string* name = preset_name(json);
  if (name == nullptr && !json.contains("exp_error"))
    throw UsageError("arithmetic: exp_error: missing, legal: it, or a preset");
  std::vector<BackwardArithmetic> list = name == nullptr ? std::vector{BackwardArithmetic{}} : preset(*name, inputs);
  put_fields(list, json, inputs);
  return list;
}

GradientArithmetic parse_gradient_arithmetic(std::string_view text, Format inputs) {
  if (!bound::is_object(text)) return gradient_preset(text, inputs);
  const bound::Json json = bound::parse_object(text);
  const std::string* name = preset_name(json);
  if (name == nullptr) throw UsageError("arithmetic: preset: missing; it says what the forward pass computes");
  GradientArithmetic both = gradient_preset(*name, inputs);
  put_fields(both.backward, json, inputs);
  return both;
}

std::vector<WithoutField> without_each_field(std::span<const BackwardArithmetic> one_of, std::size_t index,
                                             Format inputs) {
  const BackwardArithmetic& first = one_of[std::min(index, one_of.size() - 1)];
  BackwardArithmetic same_algorithm{.exponent = first.exponent,
                                    .unit = first.unit,
                                    .scale = first.scale,
                                    .factors_scaled = first.factors_scaled,
                                    .stored_weights = first.stored_weights,
                                    .delta = first.delta,
                                    .apart = first.apart};
  const bound::Json declared = as_json(first);
  bound::Json defaults = as_json(same_algorithm);
  std::vector<WithoutField> list;
  for (const auto& [field, value] : declared.items()) {
    if (value == defaults[field]) continue;
    WithoutField& without = list.emplace_back(WithoutField{fmt::format("\"{}\": {}", field, value.dump()), {}});
    for (BackwardArithmetic one : one_of) {
      try {
        bound::fields(one, bound::FieldReader({{field, defaults[field]}}, ""));
        require_declaration(one, inputs, inputs);
        without.one_of.push_back(one);
      } catch (const std::invalid_argument&) {  // the default contradicts another field: not this one alone
      }
    }
    if (without.one_of.size() != one_of.size()) list.pop_back();
  }
  return list;
}

}  // namespace flashproof
