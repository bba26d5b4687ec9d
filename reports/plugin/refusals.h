// What a kernel may refuse when it is called: what follows from shapes, strides, formats, lengths and options, so that the same call
// is refused every time. One that refuses for its numbers, for where they lie, for how often it was called or at random is not
// judged where it likes.
#pragma once

#include <cstdint>

#include "properties/laws/trial.h"

namespace flashproof {

/// Runs a kernel behind the C ABI, of one case. Where it returns FLASHPROOF_UNSUPPORTED for a problem that its description takes, it is
/// asked the same again, with every tensor aligned, with other numbers, and, the first time, in a new process. Throws what run()
/// throws, and KernelFault where it takes one of these.
Runner runner_that_asks_again();

/// scale times a number drawn between -1 and 1, or by Random::normal().
struct Numbers {
  double scale;
  enum Law { uniform, normal } law;
};

/// The same problem, every stored number drawn anew; sums of weights are not negative.
Problem with_numbers(Problem problem, Numbers numbers, std::uint64_t seed);

}  // namespace flashproof
