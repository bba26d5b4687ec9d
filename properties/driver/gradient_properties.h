// The laws of the gradient over variants and families, for some kernels of the gradient: as property_run.h for the forward
// kernels, result for result. Cases are drawn by seed and made smaller by properties/shrink/gradients.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/run.h"
#include "properties/driver/property_run.h"

namespace flashproof {

/// As run_properties(); `kernels` are those that options.kernels is matched with. A default run begins with every row of the
/// covering array (gradient_variant.h); a chosen family stands alone.
std::vector<PropertyResult> run_gradient_properties(std::span<const Kernel* const> kernels,
                                                    const PropertyOptions& options);

/// Is this --replay argument a case of the gradient: its line, or a witness file of one?
bool replays_gradient(const std::string& text);

}  // namespace flashproof
