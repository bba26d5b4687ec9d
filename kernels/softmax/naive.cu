// The definition itself, nothing subtracted: e^x over the sum of e^x.
//
//   computes   o[r,j] = exp(x[r,j]) / d[r], d[r] = Σ exp(x[r,j]);  lse[r] = ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no row, o there is 0; lse (rows)
//   launch     grid = rows; block = 128 (4 warps)
//   edges      published: x > 88.72 gives inf/inf = NaN; before that, in silence, d overflows and o is 0 (four x = 88);
//              everything below −104 gives 0/0. hardened: reference semantics; a row whose d is no normal f32 is NaN
//   arithmetic f32; whole_row.h; exp accurate; one division per output
//   source     seed 002 ("Naive Softmax", naive_softmax); eq. 1 of seed 000
//   chosen     fixed by the seed: exp twice per element, division. Open there and chosen here: the order of the sum
#include "kernels/softmax/parts/whole_row.h"

namespace flashproof::FP_EXECUTOR {

using Naive = RowFormula</*shifted*/ false, Ending::divide>;

std::span<const KernelDeclaration> softmax_naive() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.naive.published", whole_row_arithmetic<Naive>(), launch_whole_row<SoftmaxPublished, Naive>),
      declaration("softmax.naive.hardened", whole_row_arithmetic<Naive>(), launch_whole_row<SoftmaxHardened, Naive>,
                  {.refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
