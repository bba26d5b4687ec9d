// What a call through the door costs, for python/benchmarks/door.py.
#pragma once

#include "python/bindings/door.h"

namespace flashproof::python {

/// Of a case "line" and "runs": seconds per run() of a callable, the median of 7 rounds of `runs` calls. It must take the case.
/// Throws what run() throws.
void seconds_per_call(const Json& request, const Python& python);

}  // namespace flashproof::python
