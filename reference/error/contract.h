// Where a kernel deviates from the reference semantics, by its own declaration. It is judged against this, and the
// report lists it; there is no global "equal_nan".
#pragma once

#include <cstdint>

#include "reference/error/semantics/semantics.h"
#include "reference/problem/formats.h"

namespace flashproof {

/// What a foreign kernel returns. What it does not return is not judged; for the laws that need both, the caller of the kernel puts
/// the rounded truth in its place, so that they still say something about the part that is there.
enum class Returns : std::uint8_t { both, o, lse };

struct Contract {
  bool isolates_hidden = false;  // NaN or inf in k, v of a hidden key leaves the output's bits unchanged
  // The same bits for the same numbers and the same plan, wherever they lie in storage, in every run and under every
  // schedule: what the laws that compare bits ask of a kernel that declares it.
  bool deterministic = true;
  bool batch_invariant = true;  // a row, head or batch entry alone has the bits that it has among others
  // An un-stabilised form (no maximum subtracted, e^{−m} by itself): a row whose exponentials, their sum or products leave
  // the normal f32 range is NaN, o and lse, never a wrong number. Then a failed precondition of the form (RowDomain::form)
  // puts the row out of domain; without this the same NaN is a failure.
  bool refuses_beyond_range = false;
  Overflow overflow = Overflow::ieee;
  Returns returns = Returns::both;
  Semantics semantics = {};  // of a foreign kernel
};

}  // namespace flashproof
