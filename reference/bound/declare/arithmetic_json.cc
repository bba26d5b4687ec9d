// Declarations as JSON. A text may come from anywhere: every field is checked before it is used.
#include "reference/bound/declare/arithmetic_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic_fields.h"
#include "reference/bound/declare/arithmetic_reader.h"
#include "reference/bound/declare/named_presets.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using namespace bound;

Arithmetic read_object(const Json& json, ProblemKind problem, Format inputs) {
  FieldReader reader(json, "");
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
  if (!is_object(text)) return named_preset(text, problem, inputs);
  const Arithmetic result = read_object(parse_object(text), problem, inputs);
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
  fields(std::as_const(a), FieldWriter(json));
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
