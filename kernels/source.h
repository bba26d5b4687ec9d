// Where a registered kernel is written.
#pragma once

#include <string_view>

#include "kernels/registry.h"

namespace flashproof {

/// The file that declares the kernel, relative to the checkout: "kernels/softmax/safe.cu". Empty for a seeded fault, whose file is
/// made by a diff, and for a foreign kernel.
std::string_view source_of(std::string_view id);

/// Whether PTX can be made of a kernel: those with a file, by nvcc (run/ptx_target.h).
bool has_ptx(const Kernel& kernel);

}  // namespace flashproof
