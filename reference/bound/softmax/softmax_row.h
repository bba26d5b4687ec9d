// One softmax row: its sum of weights as the theorem sees it, and its lse. README.md.
#pragma once

#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/softmax/softmax_paths.h"

namespace flashproof::bound {

/// How far the computed sum may move a weight of one chunk beside it; without chunk_states the row is one chunk.
struct Shares {
  double most = 1;   // upper bound of e^β_i / Σ_k P_k e^β_k (1 + ω)
  double least = 1;  // lower bound
};

struct SoftmaxRow {
  SoftmaxPaths paths;
  RowModel model;
  RowWeights weights;
  std::vector<double> own;  // by key, log units: of the exponential that becomes y
  std::vector<double>
      constant;  // by key, log units: the part of its whole path that is the error of the constant log2 e
  std::vector<double> constant_growth;  // e^constant − 1
  double constant_mean = 0;             // of that over the computed weights
  std::vector<double> block;            // by chunk, log units: what all its keys share
  std::vector<Shares> shares;           // by chunk
  ElementBound lse;                     // without its last rounding
  double lse_last = 0;
  bool shifted = true;     // false: the sum is of e^x, or of e^lse, itself
  double unit = 1;         // of absolute errors of e^x, in the model's frame: e^−m where nothing is subtracted
  double log_sum = 0;      // ln Σ e^{x − m}: where |m| is large, the difference lse − m has lost its digits
  double largest_sum = 1;  // upper bound of the computed sum of weights
  double shared = 0;       // log units: the largest rounding or exponential of the sum that several keys share
  double largest_own = 0;  // of Σ p: by what one key's own exponential moves it at most
  std::vector<Precondition> preconditions;
};

/// `x` is the row, −inf where nothing is visible: some number in it, no NaN and no +inf.
SoftmaxRow softmax_row(const SoftmaxProblem& problem, const Arithmetic& arithmetic, const std::vector<double>& x);

}  // namespace flashproof::bound
