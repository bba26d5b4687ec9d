// One query row of a backward problem: per visible key the exact P and dS in double, and what the declared arithmetic may
// do to them (README.md, sections 1 and 3). bound.cc sums these over keys and over queries.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/backward/pair_costs.h"

namespace flashproof::bound {

/// Everything is an upper bound but p and ds. dS and all that belongs to it carry τ if the declaration says `weights`.
struct PairTerms {
  std::int64_t key_row = 0;
  double p = 0, ds = 0;            // next to the exact values
  double p_slop = 0, ds_slop = 0;  // how near
  double p_weights = 0;            // |P̂ − P|, the factor common to the row included
  double p_numerator = 0;          // rounding of P into its format
  double p_size = 0;               // of the stored P
  double p_aligned = 0;            // the same as a matrix unit's exponents see it
  double ds_own = 0;               // part of dS's error from P̂, without the common factor
  double ds_weights = 0;           // with it
  double ds_delta = 0;             // from D̂_i
  double ds_delta_rest = 0;        // the same beyond P_ij ΔD_i
  double ds_numerator = 0;         // dP̂, products, storage
  double ds_size = 0;              // of the stored dS
  double ds_aligned = 0;
  RowDomain inputs;  // what P̂, dP̂ and D̂ need to be numbers
  RowDomain domain;  // and dS
};

/// A pair that adds nothing although no mask hides it (README.md, section 5).
struct Weightless {
  std::int64_t key_row = 0;
  RowDomain domain;
};

struct RowTerms {
  std::vector<PairTerms> pairs;
  std::vector<Weightless> weightless;
  double common = 0;  // |e^κ − 1|, κ the log-weight error that all keys of the row share
  double delta = 0;   // |ΔD_i|, times τ as dS
};

/// The rows of one problem. Its arguments must outlive it; `forward` is empty in stage mode.
class RowSource {
 public:
  RowSource(const backward::View& view, const BackwardArithmetic& arithmetic, const ForwardErrors& forward)
      : costs_(view, arithmetic, forward) {}
  RowTerms terms(std::int64_t query_row) const;

  const AlignedValues& aligned_q() const { return costs_.q; }
  const AlignedValues& aligned_k() const { return costs_.k; }
  const AlignedValues& aligned_d_out() const { return costs_.d_out; }

 private:
  PairCosts costs_;
};

}  // namespace flashproof::bound
