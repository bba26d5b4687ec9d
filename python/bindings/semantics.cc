#include "python/bindings/semantics.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "python/bindings/problem_json.h"
#include "python/bindings/values.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/system/error.h"

namespace flashproof::python {

Semantics semantics_named(const std::string& text, ProblemKind problem) {
  if (text.empty()) return {};
  try {
    return parse_semantics(text, problem);
  } catch (const UsageError& e) {
    throw UsageError(std::string("semantics: ") + e.what());
  }
}

void semantics_in_words(const Json& request, const Python& python) {
  const ProblemKind kind = problem_kind(value<std::string>(request, "problem"));
  python.answer(semantics_words(semantics_named(value<std::string>(request, "semantics"), kind)));
}

void semantics_table(const Json& request, const Python& python) {
  const ProblemKind kind = problem_kind(value<std::string>(request, "problem"));
  std::vector<std::pair<std::string, std::string>> table;
  for (const SemanticsPreset& preset : semantics_presets()) {
    if (preset.problem != kind) continue;
    std::string words;
    for (const std::string& word : semantics_words(preset.semantics)) words += (words.empty() ? "" : "; ") + word;
    table.emplace_back(preset.name, words);
  }
  for (const SemanticsField& field : semantics_fields()) {
    std::string legal;
    for (std::size_t value = 0; value < field.legal.size(); ++value) {
      if (is_legal(field, value, kind)) legal += fmt::format("{}{}", legal.empty() ? "" : ", ", field.legal[value]);
    }
    if (field.of(kind)) table.emplace_back(field.name, fmt::format("{}: {}", field.meaning, legal));
  }
  python.answer(table);
}

}  // namespace flashproof::python
