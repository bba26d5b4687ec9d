// What is true of a problem, what its error may be, and its file.
#pragma once

#include "python/bindings/door.h"

namespace flashproof::python {

// A "problem" is problem_json.h's; arrays are in the shape of output_shape().

/// Of a "problem": {"o", "lse"} or {"dq", "dk", "dv"}: each {"value", "low", "radius": float64, "classes": uint8}. "narrow": every
/// radius at most 2^-12 ulp of f32 where 4096 bits get there, else as the first tier leaves it; a gradient is narrow always.
void truth(const Json& request, const Python& python);
/// Of a "problem" and an "arithmetic" the same: each {"weights", "numerator", "denominator", "output", "probable": float64};
/// {"in_domain": of each uint8}, and of a forward problem {"range": shaped as o}. Of a gradient it is that of both passes.
void bound(const Json& request, const Python& python);
/// Writes the "problem", the "case" that it was drawn from and the "notes" to "path", a .safetensors.
void write_witness(const Json& request, const Python& python);
/// Of a "path": {"problem", "case", "notes": {...}}.
void read_witness(const Json& request, const Python& python);
/// Of a case "line": its problem.
void make_case(const Json& request, const Python& python);

}  // namespace flashproof::python
