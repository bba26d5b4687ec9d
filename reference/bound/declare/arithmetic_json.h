// A declaration of arithmetic as text: what a foreign kernel says that it computes, and how a report
// repeats it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// `text`: a preset's name, or a JSON object {"preset": NAME, FIELD: VALUE, ...} whose fields replace the preset's, or one of
/// fields alone, with "reduction" among them. Fields have the names of arithmetic.h, objects the nesting of its structures,
/// enumerators their own names; "unit" takes a name ("hopper_f16", "none") or {"k":, "f":, "ofb":}; formats are "f16" and so
/// on. Throws UsageError naming the field and what is legal: for an unknown name, a number out of range, a declaration that
/// contradicts itself, and for a preset that has no meaning for inputs of this format.
Arithmetic parse_arithmetic(std::string_view text, ProblemKind problem, Format inputs);

/// Every field by its name, on one line: parse_arithmetic() of it is the declaration again, bit for bit. A declaration that
/// has lanes_of is written with the lanes of so many columns; throws UsageError where `columns` is not positive then.
std::string arithmetic_json(const Arithmetic& arithmetic, std::int64_t columns = 0);

/// The fields in which `other` differs, with its values, as members of a JSON object: what a declaration would say in place of
/// what is declared.
std::string difference_json(const Arithmetic& declared, const Arithmetic& other);

/// A name that parse_arithmetic() takes, and one line about it.
struct ArithmeticPreset {
  std::string_view name;
  std::string_view text;
};
/// Those for kernels of this problem, `unknown` last.
std::span<const ArithmeticPreset> arithmetic_presets(ProblemKind problem);
/// Whether the preset of this name is declared for inputs of this format. Throws UsageError for an unknown name.
bool preset_takes(std::string_view name, ProblemKind problem, Format inputs);

}  // namespace flashproof
