// Attention states (o_c, lse_c) merged two at a time along a tree: what workers that reduce among themselves do.
//
//   computes   at every join λ' = ln(e^λ + e^λc); sum: o' = e^{λ−λ'} o + e^{λc−λ'} o_c; concat: every block times
//              e^{lse_c − λ} of the root
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; joins (n − 1), none: balanced; o (rows, dv), or
//              (rows, n·dv) with block c at columns c·dv; lse (rows)
//   launch     two: one thread lays the tree out in the workspace, 36n + 4 bytes; then grid = groups of rows, block = 128, a
//              thread per row makes the factors of all joins, then 16 bytes a thread
//   edges      reference semantics; an empty state is the identity whatever its o holds
//   arithmetic f32, at every join that of merge.pairwise_stable: e = e^{−|λ−λc|}, weights 1/(1+e) and e/(1+e),
//              max + ln(1+e); two products and a sum per element
//   source     beyond the seeds; seed 004 combines (m, s) of its threads by such a tree
//   chosen     all of it: neighbours in visiting order where no tree is given, an odd last state waiting; accurate
//              exponential and logarithm
#pragma once

#include "kernels/merge/pairwise_stable.h"
#include "kernels/merge/tree.h"
