// A declaration of the backward pass as text: what a kernel that this project did not write says of itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/bound/backward/arithmetic.h"
#include "reference/bound/backward/gradient_bound.h"
#include "reference/bound/declare/arithmetic_json.h"

namespace flashproof {

/// `text`: a preset's name, or a JSON object {"preset": NAME, FIELD: VALUE, ...} whose fields replace the preset's, or one of fields
/// alone, with "exp_error" among them. Fields have the names of arithmetic.h, objects the nesting of its structures. The kernel reads
/// the o and lse of a forward pass: what keeps P of its own is no such kernel. What is returned is one of several declarations,
/// it is not known which. Throws UsageError naming the field and what is legal.
std::vector<BackwardArithmetic> parse_backward_arithmetic(std::string_view text, Format inputs);
/// The same of an autograd call, forward and backward pass in one: a preset's name, or an object with one, whose fields replace those
/// of the preset's backward pass.
GradientArithmetic parse_gradient_arithmetic(std::string_view text, Format inputs);
/// The declaration with one of its fields as the default has it, for each field that differs; what names the algorithm stays.
/// field: {"exp_error": 0.3} without the braces, as the one of this index has it.
struct WithoutField {
  std::string field;
  std::vector<BackwardArithmetic> one_of;
};
std::vector<WithoutField> without_each_field(std::span<const BackwardArithmetic> one_of, std::size_t index,
                                             Format inputs);
/// The members of a declaration that means this one alone: a preset that is or has it, and what the preset leaves open or has otherwise.
std::string declaring_members(const BackwardArithmetic& arithmetic, Format inputs);
/// Names that it takes, `unknown` last.
std::vector<ArithmeticPreset> backward_presets();

}  // namespace flashproof
