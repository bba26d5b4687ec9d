// The gradients in report.json and in `list --json`.
#pragma once

#include "reports/gradients/report.h"
#include "reports/record/json_parts.h"

namespace flashproof {

/// One object per record, with the fields of a forward record; figures of dq, dk and dv.
json_parts::Json gradients_json(const GradientReport& report);
json_parts::Json backward_kernels_json();
json_parts::Json gradient_laws_json();

}  // namespace flashproof
