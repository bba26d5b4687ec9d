// What a sweep found, as the block that ends report, check and merge.
#pragma once

#include <string>
#include <vector>

#include "reports/record/report.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// What is asked of a block beyond the records.
struct BlockRequest {
  Kernels judged = Kernels::hardened;  // of which a failure is a finding; those of the others are expected
  bool nightly = false;                // what no tier decided is a finding, too
};

/// `undecided` and `narrow`: of the same records and kernels. `report.findings` as write_findings() or findings_of() made them.
VerdictBlock report_block(const Report& report, const BlockRequest& request, const std::vector<Undecided>& undecided,
                          const std::vector<Undecided>& narrow);

}  // namespace flashproof
