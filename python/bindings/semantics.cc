#include "python/bindings/semantics.h"

#include <fmt/format.h>

#include "python/bindings/problem_dict.h"
#include "reference/error/semantics_json.h"
#include "reference/problem/error.h"

namespace flashproof::python {

Semantics semantics_named(const std::string& text, ProblemKind problem) {
  if (text.empty()) return {};
  try {
    return parse_semantics(text, problem);
  } catch (const UsageError& e) {
    throw UsageError(std::string("semantics: ") + e.what());
  }
}

std::vector<std::string> semantics_in_words(const std::string& text, const std::string& problem) {
  return semantics_words(semantics_named(text, problem_kind(problem)));
}

std::vector<std::pair<std::string, std::string>> semantics_table(const std::string& problem) {
  const ProblemKind kind = problem_kind(problem);
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
  return table;
}

}  // namespace flashproof::python
