// The bound that the judging laws hold a kernel's answer against.
#pragma once

#include "properties/laws/trial.h"

namespace flashproof {

/// Of a gradient its mode and the errors in its o and lse count, which a relating law does not look at. Throws as
/// compute_bound().
Bound judged_bound(const Kernel& kernel, const Case& subject, CaseTruth& truth);

}  // namespace flashproof
