// What a case measures: three sizes that errors are known to grow with. A record keeps its worst errors per octave of them.
#pragma once

#include "kernels/registry.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct CaseSizes {
  double length = 0;  // softmax: columns; merge: states; attention: keys of the longest sequence
  double magnitude =
      0;  // softmax: largest finite |x|; merge: largest finite |lse|; attention: what |score| cannot exceed,
          // |scale·descale factors|·max|q|₂·max|k|₂ over the rows of q and k without NaN and inf
  double merges = 0;  // merges_of(): the kernel's, too
};

/// Without merges.
CaseSizes sizes_of(const Problem& problem);

/// How often the declared arithmetic joins two partial results that have maxima of their own (each join rescales), per
/// row: one less than there are units, whatever the shape of the tree. Units are the columns of a strided_online softmax,
/// the chunks of a chunked one (of a split too: a worker joins its own, then the workers are joined), the states of a
/// merge, the keys of a per_key form. Lanes of one chunk share its maximum: adding them up is no join. Two-pass, unshifted
/// and resident forms join nothing. A chunk without a visible key counts although it is passed over.
/// Of a gradient: joins of block sums (Accumulation::block, heads_apart) of the tensor that makes most.
double merges_of(const KernelDeclaration& kernel, const Problem& problem);

}  // namespace flashproof
