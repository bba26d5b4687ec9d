// An argument of a map as pieces of an entry's parameters:
//
//   "q"                              a pointer to a tensor, or to scratch memory, by its name
//   { o_in = "rows * dv" }           so many elements behind its first, of scratch memory bytes
//   "cols", 3, 0.5                   a number or an expression, in the type of the parameter
//   { s32 = "stride(q, 2)" }         of another type: s8 .. s64, u8 .. u64, f32, f64
//   { hex = "0011aaff" }             the parameter's bytes
//   { tensor_map = "q", box = [1, 1, 64, "d"], swizzle = 128 }
//                                    128 bytes, as cuTensorMapEncodeTiled makes them; with shape and strides where they are not the tensor's
//   ["q", { u64 = "d" }, ...]        a structure, its members laid out as C does
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "kernels/ptx/map/map.h"

namespace flashproof::ptx {

/// Throws UsageError that says what is legal.
Expression expression_of(const nlohmann::json& given, int problem);
std::vector<Piece> pieces_of(const nlohmann::json& given, const Variable& parameter, const Map& map);

}  // namespace flashproof::ptx
