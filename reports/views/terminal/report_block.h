// What a sweep found, as the block that ends report, check and merge, and that report.md and the page begin with.
#pragma once

#include "reports/record/report.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// `judged`: the kernels of which a failure is a finding; those of the others are expected. Of `report` it takes the records,
/// findings, runs, causes, undecided and narrow. Everything that makes an exit code is in its outcome.
VerdictBlock report_block(const Report& report, Kernels judged);

}  // namespace flashproof
