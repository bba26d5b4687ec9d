// The cases of a run over a kernel of the gradient: seeds and formats are drawn from the run's seed.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/registry.h"
#include "kernels/run.h"
#include "properties/generators/family.h"
#include "reference/problem/witness.h"

namespace flashproof {

/// False: no more.
using UseGradientCase = std::function<bool(const Case& drawn)>;

/// So many cases of a family. Where it has no case with a gradient for a seed, it draws again; a family that is about a
/// feature without a gradient has none at all.
void draw_family(const Kernel& kernel, const Family& family, std::uint64_t seed, std::uint64_t cases,
                 const UseGradientCase& use);
/// Every row of the covering array (gradient_variant.h), on an ordinary problem.
void draw_variants(const Kernel& kernel, std::uint64_t seed, const UseGradientCase& use);

}  // namespace flashproof
