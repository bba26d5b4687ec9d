// Ended by lse alone, and lse taken of e^x itself.
//
//   computes   lse[r] = ln Σ exp(x[r,j]);  o[r,j] = exp(x[r,j] − lse[r])
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps)
//   edges      published: x > 88.72, or a sum that overflows before any term does, makes lse = inf and o 0 or NaN; x
//              below −104 makes lse = −inf. hardened: reference semantics; a row whose sum is no normal f32 is NaN
//   arithmetic f32; whole_row.h; exp accurate; no division: the error of lse, u·|lse|, is the relative error of o
//   source     seed 000, eq. 2 read literally
//   chosen     fixed by the seed: the two exponentials and the logarithm. Open there and chosen here: the order of the sum
#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

using LseUnshifted = RowFormula</*shifted*/ false, Ending::division_free>;

std::span<const KernelDeclaration> softmax_lse_unshifted() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.lse_unshifted.published", whole_row_arithmetic<LseUnshifted>(),
                  launch_whole_row<SoftmaxPublished, LseUnshifted>),
      declaration("softmax.lse_unshifted.hardened", whole_row_arithmetic<LseUnshifted>(),
                  launch_whole_row<SoftmaxHardened, LseUnshifted>, {.refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
