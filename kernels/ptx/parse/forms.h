// The table of instruction forms that can be executed: one row per pattern of full names, with its operands and its emitter.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

class BlockCode;
struct Form;

struct FormRow {
  /// "{add,sub}{,.rn}{,.ftz}.f32": one of the alternatives of each pair of braces, which may nest.
  std::string_view pattern;
  /// One word per operand:
  ///   d s     register written; register or immediate read
  ///   p P     predicate read, perhaps negated; predicate written, perhaps the pair %p|%q
  ///   d| P|   written, or the pair %r|%p
  ///   v w     one register, or {a, b} as many as .v2, .x4 and the like say, or a digit behind it: written, read
  ///   u       the sums of wgmma, half as many as the name's columns, read and written; a its first factor, a descriptor or four registers
  ///   t       an address with coordinates, as many as the name's .1d to .5d says: [map, {c0, c1}]
  ///   x       read: what `s` takes, a special register or the address of a variable; m address, L label, i integer
  ///   C       arguments or results of a call, checked by translate/calls.cc
  /// Behind it ':' and the type (":u32"; ":from" the second type of the name, ":wide" twice the width); without, the last type of
  /// the name. '>' behind it: the register may be wider. '?' before it: may be missing.
  std::string_view operands;
  void (*emit)(BlockCode&, const Form&, const Instruction&);
};

/// A full name and its row.
struct Form {
  std::string name;
  std::vector<std::string> parts;  // "ld", "global", "v4", "u32"
  Type type;                       // the last type in the name; the first one of cvt
  Type from;                       // the last one of cvt; else as type
  const FormRow* row = nullptr;

  bool has(std::string_view part) const;
  /// The first of these that is a part; the last one if none is.
  std::string_view one_of(std::initializer_list<std::string_view> parts) const;
  int columns() const;  // of wgmma: 8 to 256
  int axes() const;     // of a tensor: 1 to 5
  int vector_size() const { return has("v2") || has("x2") ? 2 : has("v4") || has("x4") ? 4 : 1; }
};

std::span<const FormRow> form_rows();

bool matches(std::string_view pattern, std::string_view name);

/// Null if there is none. The pointer stays valid.
const Form* find_form(std::string_view name);

/// What an operand word of a row says.
struct OperandRule {
  char kind;  // 'd', 's', 'p', 'P', 'v', 'w', 'x', 'm', 'L', 'i'
  bool pair = false, wider = false, optional = false;
  int elements = 1;  // of 'v' and 'w'
  Type type;
};
std::vector<OperandRule> rules_of(const Form& form);

/// The rule of each operand of the instruction; throws UsageError where number, kind or width of an operand is wrong.
std::vector<OperandRule> checked_operands(const std::string& file, const Form& form, const Entry& entry,
                                          const Instruction& instruction);

/// The registers that the instruction reads (its guard among them) and writes.
struct Effects {
  std::vector<int> reads, writes;
};
Effects effects_of(const std::vector<OperandRule>& rules, const Instruction& instruction);

}  // namespace flashproof::ptx
