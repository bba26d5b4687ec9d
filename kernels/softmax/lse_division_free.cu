// Ended by lse alone: no division, and the error of lse multiplies every output.
//
//   computes   lse[r] = c + ln Σ exp(x[r,j] − c), c = max x[r,:];  o[r,j] = exp(x[r,j] − lse[r])
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps)
//   edges      published: a row of −inf gives −inf − (−inf) = NaN. hardened: reference semantics
//   arithmetic f32; whole_row.h; exp accurate; lse is rounded to f32 before it is subtracted: u·|lse| in every output
//   source     seed 000, eq. 2 with L_i = c + log Σ exp(x_j − c), c the maximum
//   chosen     fixed by the seed: c = max, no division. Open there and chosen here: the order of the sum; max ignores NaN
//              when published
#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

using LseDivisionFree = RowFormula</*shifted*/ true, Ending::division_free>;

std::span<const KernelDeclaration> softmax_lse_division_free() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.lse_division_free.published", whole_row_arithmetic<LseDivisionFree>(),
                  launch_whole_row<SoftmaxPublished, LseDivisionFree>),
      declaration("softmax.lse_division_free.hardened", whole_row_arithmetic<LseDivisionFree>(),
                  launch_whole_row<SoftmaxHardened, LseDivisionFree>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
