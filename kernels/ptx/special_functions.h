// The GPU's approximate functions, bit for bit: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh. A form that stands in this list is
// executed by its function; one that does not is refused by name, never approximated by another function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace flashproof::ptx {

struct SpecialFunction {
  std::string_view form;    // "ex2.approx.ftz.f32"
  std::string_view symbol;  // by which translated code calls it; stands in cached objects
  /// The f32 of 32 lanes, bit patterns.
  void (*apply)(const std::uint32_t* x, std::uint32_t* y);
};

/// Every function that has a model (kernels/simt); none has one yet.
inline std::span<const SpecialFunction> special_functions() { return {}; }

/// Null if the form has no model.
inline const SpecialFunction* special_function(std::string_view form) {
  for (const SpecialFunction& function : special_functions()) {
    if (function.form == form) return &function;
  }
  return nullptr;
}

}  // namespace flashproof::ptx
