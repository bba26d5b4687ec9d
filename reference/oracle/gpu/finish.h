// From sums to balls: o = N / L and lse = m + log L with their radii, and which rows are narrow enough.
#pragma once

#include <cstdint>

#include "reference/oracle/gpu/attention.h"

namespace flashproof::gpu {

/// What a row is, as bits of its verdict.
enum RowVerdict : std::uint8_t { kWithinC = 1, kWithinStrict = 2, kScoresDominate = 4, kNotBounded = 8, kNoKey = 16 };

struct Counts {
  unsigned long long rows_c, rows_strict, elements_c, elements_strict;
  // Of the rows not within C, and of those not within the strict tolerance: [0] and [1].
  unsigned long long not_bounded[2], scores[2], sums[2];
};

struct FinishArguments {
  const Visible* visible;  // (batch, q length)
  const double* sink;      // (q heads) or null; kNoReference for none
  const RowState* state;
  const RowTerms* row;
  const HeadBounds* head;
  const float* absolute;
  double* o;  // in: Σ w v, out: the quotient
  // Outputs, per padded row.
  double* radius;  // of o, kDepth columns
  double* lse;
  double* lse_radius;
  double* score_error;
  std::uint8_t* verdict;
  Counts* counts;  // one, comes in as 0

  double h_n_u, h_l_u, dropped;  // README.md
  int precision, min_exponent;   // of the strict tolerance's format (formats.h)
  int value_dim;
  int batch, q_heads, k_heads, q_length, row_blocks;
};

void finish(const FinishArguments& arguments);

}  // namespace flashproof::gpu
