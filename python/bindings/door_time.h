// What a call through the door costs, for python/benchmarks/door.py.
#pragma once

#include <cstdint>
#include <string>

#include "python/bindings/callable_kernel.h"

namespace flashproof::python {

/// Seconds per run() of the callable on the case of this line: the median of 7 rounds of `runs` calls. It must take the case.
/// Throws what run() throws.
double seconds_per_call(CallableDeclaration declaration, const std::string& line, std::uint64_t runs);

}  // namespace flashproof::python
