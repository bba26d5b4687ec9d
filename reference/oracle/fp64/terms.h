// One multiplier per term of the radii of softmax and merge, named as in README.md. 1 in the product; the tests set one
// to 0 or 1/2 to see that its absence is noticed.
#pragma once

#include "reference/oracle/fp64/vector/certified_log.h"

namespace flashproof {

struct SoftmaxTerms {
  double score = 1;      // e_j, what the subtraction x_j − m lost
  double exp = 1;        // kExpError of every weight that is not 1
  double underflow = 1;  // weights below e^-707, which are taken for 0
  double sum = 1;        // h_L u L, the roundings of L = Σ w_j
  double quotient = 1;   // |w_j − o_j L|
  LogTerms log = {};
  double shift = 1;  // the rounding of lse = m + log L
};

struct MergeTerms {
  SoftmaxTerms weights = {};
  double value_sum = 1;  // γ(h_N) Σ w_s |v_sc|, the roundings of N = Σ w_s v_sc
  double quotient = 1;   // |N − o_c L|; for concat |p_s v_sc − o_sc|
  double counts = 1;     // the roundings of L = Σ l_s w_s, of un-normalised states
};

}  // namespace flashproof
