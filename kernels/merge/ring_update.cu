#include "kernels/merge/ring_update.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_ring_update() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.ring_update.published", kRingUpdateArithmetic, launch_fold<Running<MergePublished>>,
                  {.unsupported = ring_update_unsupported<MergePublished>}),
      declaration("merge.ring_update.hardened", kRingUpdateArithmetic, launch_fold<Running<MergeHardened>>,
                  {.unsupported = ring_update_unsupported<MergeHardened>}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
