// The causes of a sweep's failures, kernel by kernel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/record/report.h"

namespace flashproof {

/// What diagnose_apart() says of each kernel with failures, by full_id(). Cases that ended a process or were faulted by the executor
/// are not run again; kernels with native math are not looked at, since the CPU executor runs the deterministic one.
std::map<std::string, std::vector<Cause>> causes_of(const std::vector<Record>& records, Kernels kernels, int jobs);

}  // namespace flashproof
