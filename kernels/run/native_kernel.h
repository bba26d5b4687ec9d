// Kernels with native math: what they run and what they declare.
#pragma once

#include "kernels/registry.h"
#include "reference/bound/declare/profile.h"

namespace flashproof {

/// `det`, a kernel of the registry, with the launches of native math. On the CPU executor every kernel has it.
Kernel with_native_launches(const Kernel& det);

/// The same, declared as the profile says (with_profile()).
Kernel native_kernel(const Kernel& det, const Profile& profile);

/// The shipped profile of the capability whose bits native math has on the CPU executor. Throws what find_profile() throws.
Profile modelled_profile();

}  // namespace flashproof
