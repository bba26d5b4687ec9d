// Where a registered kernel is written.
#pragma once

#include <string_view>

namespace flashproof {

/// The file that declares the kernel, relative to the checkout: "kernels/softmax/safe.cu". Empty for a seeded fault, whose file is
/// made by a diff, and for a foreign kernel.
std::string_view source_of(std::string_view id);

}  // namespace flashproof
