// What is true of a problem, what its error may be, and its file, as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace flashproof::python {

/// {"o", "lse"} or {"dq", "dk", "dv"}: each {"value", "low", "radius": float64, "classes": uint8}, in the shape of
/// output_shape(). `narrow`: every radius at most 2^-12 ulp of f32 where 4096 bits get there, else as the first tier leaves it; a
/// gradient is narrow always.
nanobind::dict truth(const nanobind::dict& problem, bool narrow);
/// The same: each {"weights", "numerator", "denominator", "output", "probable": float64}; {"in_domain": of each uint8}, and of a
/// forward problem {"range": shaped as o}. Of a gradient it is that of both passes.
nanobind::dict bound(const nanobind::dict& problem, const std::string& arithmetic);
/// The .safetensors of a case.
void write_witness(const std::string& path, const nanobind::dict& problem, const std::string& case_line,
                   const nanobind::dict& notes);
/// {"problem": dict, "case": line, "notes": {...}}
nanobind::dict read_witness(const std::string& path);
/// The problem of a case line.
nanobind::dict make_case(const std::string& line);

}  // namespace flashproof::python
