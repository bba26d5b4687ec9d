// Whether the diagnosis (reports/diagnose) names a seeded fault: the field `cause` of its diff says what would be right.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/broken/fault.h"
#include "reports/diagnose/cause/cause.h"

namespace flashproof {

/// rightly: one of the causes that it is confident of is among the fault's, or cannot be told apart from one that is, and
/// none of them is another. wrongly: it is confident of another. nothing: it is confident of none.
enum class Named : std::uint8_t { nothing, rightly, wrongly };
std::string_view name(Named named);

Named named_by(const SeededFault& fault, const std::vector<Cause>& causes);

/// Of the fault's kernel, on the cases that laws are asked on (teeth_cases.h): those that a judging law rejects, and does not
/// reject without the fault, against those that pass.
std::vector<Cause> diagnose_fault(const SeededFault& fault);

}  // namespace flashproof
