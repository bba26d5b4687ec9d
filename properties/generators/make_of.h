// A case of one family, as make_case() and the cases of gradients make it.
#pragma once

#include "properties/generators/family.h"

namespace flashproof {

/// Checks every key. Under the key `bias` the case has none, and in its place scores of a usual spread from q and k alone: of the same
/// sizes and features, for a kernel that takes no bias.
Case make_of(const Family& family, const CaseSpec& spec);

}  // namespace flashproof
