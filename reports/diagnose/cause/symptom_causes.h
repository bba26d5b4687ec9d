// Failing cases by what their output holds, and where.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// Whether some element has the symptom; NaN stands for infinities, too.
bool shows(const Observation& seen, Symptom symptom);

/// One cause per symptom of the cases that `open` has. Confident where a condition separates the rows that show it from those that
/// pass and could show it.
std::vector<Cause> by_symptoms(const Kernel& kernel, const Looked& looked, const std::vector<bool>& open);

}  // namespace flashproof
