#include "kernels/run/native_kernel.h"

#include "kernels/special_functions/tables.h"

namespace flashproof {

Kernel with_native_launches(const Kernel& det) {
  Kernel native = det;
  native.math = Math::native;
  native.has_cuda = det.has_native;
  native.cuda_launch = det.native_launch;
  return native;
}

Kernel native_kernel(const Kernel& det, const Profile& profile) {
  Kernel native = with_native_launches(det);
  if (det.problem == ProblemKind::backward) {
    native.backward = with_profile(det.backward, profile);
  } else {
    native.arithmetic = with_profile(det.arithmetic, profile);
  }
  return native;
}

Profile modelled_profile() { return find_profile_of_capability(shipped_profiles(), special::kModelled); }

}  // namespace flashproof
