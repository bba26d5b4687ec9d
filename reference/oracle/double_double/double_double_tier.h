// The double-double tier from the inside, for its tests and for the memory check of the driver; everybody else uses
// tiers.h. Derivations of the radius: README.md beside this file.
#pragma once

#include <cstdint>
#include <memory>

#include "reference/oracle/tiers.h"

namespace flashproof {

/// One multiplier per term of the radius, named as in README.md. 1 in the product; the tests set one to 0 to see that
/// its absence is noticed.
struct DdTerms {
  double dot = 1;       // q·k: what the additions to the low word lost
  double exponent = 1;  // scale·q·k + bias − slope·distance − m, in DD
  double exp = 1;       // kDdExpError; dd_scores: kWeightError
  double sum = 1;       // Σ w
  double pv = 1;        // Σ w v
  double division = 1;  // N / L
  double log = 1;       // log L, and m + log L
  /// Not a multiplier: below this many quanta a low word is exact. Another number is another negative control.
  double exact_below = 0x1p53;
};

struct DdOptions {
  DdTerms terms;
  /// K and V of one head are kept decoded up to this size; a larger head is decoded in chunks, again for every row.
  std::int64_t head_bytes = std::int64_t{256} << 20;
};

/// The rows do not depend on head_bytes, but for the last bits of the radius.
std::unique_ptr<RowTier> double_double_tier(const Problem& problem, const DdOptions& options);

/// What a tier allocates at most for this valid problem, in bytes.
std::int64_t double_double_tier_bytes(const Problem& problem);

}  // namespace flashproof
