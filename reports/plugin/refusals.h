// What a kernel may refuse when it is called: what follows from shapes, strides, formats, lengths and options, so that the same call
// is refused every time. One that refuses for its numbers, for where they lie, for how often it was called or at random is not
// judged where it likes.
#pragma once

#include <cstdint>

#include "properties/laws/trial.h"

namespace flashproof {

/// Runs a kernel behind the C ABI, of one case. Where it returns FLASHPROOF_UNSUPPORTED for a problem that its description takes, it is
/// asked the same again, with every tensor aligned, with plain numbers, and, the first time, in a new process. Throws what run()
/// throws, and KernelFault where it takes one of these.
Runner runner_that_asks_again();

/// The same problem, every stored number drawn between -1 and 1, of sums of weights between 0 and 1: nothing by which a kernel could
/// tell it from a case.
Problem with_plain_numbers(Problem problem, std::uint64_t seed);

}  // namespace flashproof
