// The maximum of the row first, then its sum, then the quotients.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) / d[r], d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps)
//   edges      published: a row of −inf gives −inf − (−inf) = NaN. hardened: reference semantics
//   arithmetic f32; whole_row.h; exp accurate; one division per output
//   source     seed 002 ("Safe Softmax", safe_softmax); Milakov & Gimelshein 2018, algorithm 2
//   chosen     fixed by the seed: (x − m).exp() twice per element, division. Open there and chosen here: the order of
//              the sum; max ignores NaN when published (PyTorch's does not; d is NaN all the same)
#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

using Safe = RowFormula</*shifted*/ true, Ending::divide>;

std::span<const KernelDeclaration> softmax_safe() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.safe.published", whole_row_arithmetic<Safe>(), launch_whole_row<SoftmaxPublished, Safe>),
      declaration("softmax.safe.hardened", whole_row_arithmetic<Safe>(), launch_whole_row<SoftmaxHardened, Safe>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
