// The GPU's approximate functions, bit for bit as sm_90 has them (kernels/special_functions). A form that stands in this list is
// executed by its function; one that does not, as sin and cos, is refused by name, never approximated by another function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace flashproof::ptx {

struct SpecialFunction {
  std::string_view form;  // "ex2.approx.ftz.f32"
  const char* symbol;     // by which translated code calls it; stands in cached objects
  /// Bit patterns of 32 lanes: one operand, or the second one behind the first.
  void (*apply)(const void* operands, void* result);
};

/// Every function that has a model.
std::span<const SpecialFunction> special_functions();

/// Null if the form has no model.
const SpecialFunction* special_function(std::string_view form);

}  // namespace flashproof::ptx
