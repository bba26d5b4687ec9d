// A report as JUnit's XML: a suite per run, which says where it ran, and one per kernel with a test per format x executor x
// math x family.
#pragma once

#include <string>

#include "reports/record/report.h"

namespace flashproof {

/// Fails exactly where `report` does not exit 0, so that a CI which reads the file and one which reads the exit code agree:
/// on a failing hardened kernel, in a nightly run on what stayed inconclusive, and in "complete" of a run that ended early. What a published kernel or a seeded fault
/// gets wrong is expected; it is a skipped test with the same message, as pytest writes its xfail: neither red nor, as a
/// pass with some output would be, green. So is a record without a verdict about its numbers: vacuous, outside,
/// unsupported.
std::string junit_text(const Report& report);

}  // namespace flashproof
