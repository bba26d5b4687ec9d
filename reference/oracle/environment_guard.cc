#include "reference/oracle/environment_guard.h"

#include <cfenv>

#include "reference/system/error.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace flashproof {

void require_ieee_environment() {
  if (std::fegetround() != FE_TONEAREST) {
    throw InfrastructureError("oracle: this thread does not round to nearest (fegetround() must be FE_TONEAREST)");
  }
#if defined(__SSE2__)
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  constexpr unsigned kRoundingMode = 0x6000;  // fegetround may answer for the x87 unit only
  const unsigned mxcsr = _mm_getcsr();
  if ((mxcsr & kFlushToZero) != 0) throw InfrastructureError("oracle: MXCSR has FTZ set, subnormals would be lost");
  if ((mxcsr & kDenormalsAreZero) != 0)
    throw InfrastructureError("oracle: MXCSR has DAZ set, subnormals would be lost");
  if ((mxcsr & kRoundingMode) != 0) throw InfrastructureError("oracle: MXCSR does not round to nearest");
#endif
}

}  // namespace flashproof
