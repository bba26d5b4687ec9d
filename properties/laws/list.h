// The laws, one per file. laws.cc puts them in order.
#pragma once

#include "properties/laws/law.h"

namespace flashproof {

Law within_bound();
Law class_matches_semantics();
Law outputs_fully_written();

}  // namespace flashproof
