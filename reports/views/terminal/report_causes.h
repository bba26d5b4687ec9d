// Failing records as entries of a block, by cause: what the diagnosis says of a kernel, or the way in which it fails.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reports/record/report.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

bool is_judged(const Record& record, Kernels judged);
/// The first few of a list, the commonest first: "mask_row 12, huge 9, 3 more".
std::string commonest(const std::map<std::string, std::uint64_t>& counts, bool with_counts);

/// Of every judged kernel with a failing case, kernel by kernel: no kind of failure and no executor is left out.
std::vector<CauseEntry> report_causes(const Report& report, Kernels judged);

}  // namespace flashproof
