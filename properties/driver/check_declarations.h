#pragma once

#include <span>

#include "kernels/registry.h"

namespace flashproof {

/// Declarations are the user's: what the compiler lets through and a run would stumble over. Throws UsageError for an id that is no name of
/// a file or stands there twice, for a kernel without a format, and for a launch function of another problem.
void check_declarations(std::span<const KernelDeclaration> kernels);

}  // namespace flashproof
