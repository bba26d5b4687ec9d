// Where a NaN or inf came from: the kernel run again on the row's beginning, until the first column, key or state is found
// with which the answer stops being a number.
#pragma once

#include <string>

#include "properties/laws/law.h"

namespace flashproof {

/// One sentence without a full stop; "" if the kernel does not take shortened rows, or faults on them. `element`: of an output
/// that is NaN or ±inf. Of a gradient o and lse stay what they are, so that the answer is about dq and the keys.
std::string origin_of(const Evaluation& evaluation, const Element& element, Executor executor);

}  // namespace flashproof
