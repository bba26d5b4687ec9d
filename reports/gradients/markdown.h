// The gradients' sections of report.md.
#pragma once

#include <vector>

#include "reports/gradients/report.h"
#include "reports/views/markdown/markdown_parts.h"

namespace flashproof {

/// Kernels with their contracts, findings, seeded faults; without rows where there is nothing to say.
std::vector<markdown_parts::Section> gradient_sections(const PlanReport& report);

}  // namespace flashproof
