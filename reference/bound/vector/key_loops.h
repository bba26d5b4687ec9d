// Loops over the keys of a row as vector code (entries-inl.h). Only to be called where kernels::supported() holds.
#pragma once

#include <cstdint>

namespace flashproof::bound {

/// What the numerator's weights are made of, by leaf.
struct NumeratorInputs {
  const double* p;
  const double* q;
  const double* units;  // log units R
  const double* lost;
  const double* own;
  const double* own_numerator;
  double lost_scale;     // of `lost`, in the units of p
  double centred_share;  // 1 − drift
  bool all_random;       // all that is centred counts as random, not the named part alone
  bool small;            // R <= kSmallLog: e^R − 1 by its series; else the caller has filled in `growth`
};

struct NumeratorSums {
  double total, rest;          // of a = (p + q)(e^R − 1) + lost, and of its part that neither drifts nor is random
  double lost, own_numerator;  // of the inputs
  double extra;                // Σ a − p (e^R − 1)
  double q, coherent;          // Σ q, Σ max(0, q − p own)
};

/// Of the dot product and its product with the scale: coefficients, 0 for what a declaration does not have.
struct DotCosts {
  double scale = 1, tau = 1;
  double query_relative = 0, query_absolute = 0, query_scale = 1;  // per Σ|q k|, per Σ|k|; |q'| for |q|
  double tf32 = 0, cut_k = 0, cut_fixed = 0;                       // per Σ|q' k|, per Σ|k|, absolute
  double per_k_max = 0, least_k_max = 0, per_k_tiny = 0, tiny_step = 0;
  double depth = 0, own_depth = 0, operations = 0;  // of the sum
  double product = 0, product_lost = 0, product_fixed = 0, product_size = 0;
};
struct DotInputs {
  const double *dot, *size, *k_sum, *k_max, *k_tiny;
};
struct DotOutputs {
  double *value, *error, *own, *largest, *dot;
};

namespace kernels {

void numerator_weights(const NumeratorInputs& in, std::int64_t n, double* growth, double* numerator, double* rest,
                       NumeratorSums& sums);
/// Σ max(0, max(0, q − p own) − share q) and Σ max(0, rest − share numerator).
void above_shares(const NumeratorInputs& in, std::int64_t n, const double* numerator, const double* rest,
                  double coherent_share, double rest_share, double& coherent_extra, double& rest_extra);
/// For each 16 units the line above them, least + (16 − i) slope, that they least exceed: through the last one, where that
/// is no lower than one step. Returns Σ p (line − unit), nearly.
float draw_lines(const float* units, const float* p, std::int64_t lines, float* slope, float* base);
/// max score and max error; n > 0 is a multiple of 8, here and below.
void largest_score(const double* score, const double* error, std::int64_t n, double& max, double& max_error);
/// How many have score + error > limit.
std::int64_t count_above(const double* score, const double* error, std::int64_t n, double limit);
void score_dots(const DotCosts& costs, const DotInputs& in, std::int64_t n, const DotOutputs& out);

}  // namespace kernels
}  // namespace flashproof::bound
