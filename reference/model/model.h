// A declaration of arithmetic, executed: every operation, format and order that arithmetic.h gives a meaning to, on the
// host, for any problem. Bounds are attacked against it before a kernel exists, and a kernel's declaration is checked
// against it: README.md beside this file.
#pragma once

#include "reference/bound/declare/arithmetic.h"
#include "reference/model/roundings.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// o in the problem's format, lse in f32, as a kernel with this arithmetic returns them. Special values as
/// reference/problem/README.md has them, hidden keys isolated. Throws UsageError for an invalid problem, for a
/// declaration that contradicts itself or the problem (naming the field and what is legal), and for an error declared
/// below the half ulp that no f32 function can keep.
Output run_model(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings = {});

/// The same with o in f32, before its last rounding into a narrower format: what an error is measured on.
Output run_model_unrounded(const Problem& problem, const Arithmetic& arithmetic, const Roundings& roundings = {});

/// Throws the UsageError of run_model for a declaration that has no meaning for this problem.
void require_runnable(const Problem& problem, const Arithmetic& arithmetic);

}  // namespace flashproof
