// The first section of report.md: families down, kernels across, a table per problem.
#pragma once

#include <cstddef>
#include <string>

#include "reports/record/report.h"

namespace flashproof {

/// Takes at most `most` bytes from the room; rows that do not fit are counted. "" without records.
std::string markdown_matrix(const Report& report, std::size_t& room, std::size_t most);

}  // namespace flashproof
