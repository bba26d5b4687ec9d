// Linked into tests that compare one bound with another: without vectors of f32 every element is evaluated in double. With
// them lost weights and lines are coarse in places (reference/bound/README.md, section 8), not in the same ones for two
// declarations.
#include <hwy/targets.h>

namespace {
[[maybe_unused]] const bool kInDouble = (hwy::SetSupportedTargetsForTest(HWY_SSE4), true);
}  // namespace
