// Un-normalised states (m_c, l_c, O_c) of an online softmax, joined two at a time along a tree.
//
//   computes   at every join m' = max(m, m_c), l' = l e^{m−m'} + l_c e^{m_c−m'}, O alike; at the root o = O/l,
//              lse = m + ln l
//   shapes     o_in (n, rows, dv) holds O, lse_in (n, rows) m, l_in (n, rows) l, none: all 1; n <= 4096; joins (n − 1),
//              none: balanced; o (rows, dv), or (rows, n·dv) with block c at columns c·dv; lse (rows)
//   launch     two: one thread lays the tree out in the workspace, 36n + 4 bytes; then grid = groups of rows, block = 128, a
//              thread per row makes the factors of all joins, then 16 bytes a thread
//   edges      reference semantics; a state with m = −inf or l = 0 is the identity, whatever its O holds; its m raises no
//              maximum
//   arithmetic f32, at every join that of merge.states: two products and a sum per l and per element of O; one division
//              at the end
//   source     beyond the seeds; FlashInfer merges its state_t across warps by such trees
//   chosen     all of it: neighbours in visiting order where no tree is given, an odd last state waiting; accurate
//              exponential and logarithm; a division instead of 1/l
#pragma once

#include "kernels/merge/states.h"
#include "kernels/merge/tree.h"
