// Semantics as text, from one table: the `semantics` of a description (kernels/plugin/README.md), of a TOML file and of Python.
//
//   "semantics": "flash-attention-2"
//   "semantics": {"empty_o": "nan", "lse_base": "2"}
//   "semantics": {"preset": "flash-attention-2", "diagonal": "top_left"}
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error/semantics/semantics.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct SemanticsField {
  std::string_view name, meaning;
  std::span<const std::string_view> legal;  // in the order of the enumerator
  std::size_t (*get)(const Semantics&);     // of legal
  void (*set)(Semantics&, std::size_t);
  bool (*of)(ProblemKind);  // whether problems of this kind know a difference
};
/// All of them. Their defaults are those of Semantics.
std::span<const SemanticsField> semantics_fields();
/// Whether this value is legal of such problems: a mean of values is one of attention's.
bool is_legal(const SemanticsField& field, std::size_t value, ProblemKind problem);

struct SemanticsPreset {
  std::string_view name;
  ProblemKind problem;
  Semantics semantics;
  std::string_view source;  // where the library says so
};
std::span<const SemanticsPreset> semantics_presets();

/// `json`: the name of a preset as a JSON text, or an object. Throws UsageError in one line that names the field and what is legal.
Semantics parse_semantics(const std::string& json, ProblemKind problem);
/// The fields in which they differ from the reference's: {"empty_o": "nan"}; a preset's name as a JSON text where that says the same
/// and there is more than one.
std::string semantics_json(const Semantics& semantics, ProblemKind problem);
/// The same in words, one for each field: "o of rows without keys is NaN".
std::vector<std::string> semantics_words(const Semantics& semantics);

}  // namespace flashproof
