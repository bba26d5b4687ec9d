// Test support: answers that are wrong only where the kernel's own declaration lets them be. All of them read the bound.
#pragma once

#include "reports/plugin/test/adversaries.h"

namespace flashproof {

/// NaN wherever some one of those that an open declaration stands for leaves the domain.
Output nan_where_any_leaves(const Kernel& kernel, const Problem& problem, Output right);
/// Wherever the first does; one and the same for a case, another one for the next.
Output nan_where_first_leaves(const Kernel& kernel, const Problem& problem, Output right);
Output nan_where_one_leaves(const Kernel& kernel, const Problem& problem, Output right);
/// 0.9 of its own bound, of an open declaration the first one's, beside the truth, everywhere.
Output at_edge_of_bound(const Kernel& kernel, const Problem& problem, Output right);
/// 0 wherever the bound accepts 0, else the truth.
Output zero_where_accepted(const Kernel& kernel, const Problem& problem, Output right);

}  // namespace flashproof
