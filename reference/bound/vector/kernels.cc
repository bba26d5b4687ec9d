#include "reference/bound/vector/kernels.h"

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/vector/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/bound/vector/kernels.cc"
#include "hwy/foreach_target.h"
// Highway's own order: foreach_target.h first.
#include "hwy/highway.h"
#include "reference/bound/softmax/softmax_keys-inl.h"
#include "reference/bound/vector/columns-inl.h"
#include "reference/bound/vector/entries-inl.h"
#include "reference/bound/vector/finish-inl.h"
#include "reference/bound/vector/products-inl.h"
#include "reference/bound/vector/weights-inl.h"

#if HWY_ONCE

namespace flashproof::bound::kernels {

HWY_EXPORT(products);
HWY_EXPORT(sum_columns);
HWY_EXPORT(finish_columns);
HWY_EXPORT(weight_sum);
HWY_EXPORT(weigh);
HWY_EXPORT(charge_keys);
HWY_EXPORT(sum_keys);
HWY_EXPORT(quotients);
HWY_EXPORT(numerator_weights);
HWY_EXPORT(above_shares);
HWY_EXPORT(score_dots);
HWY_EXPORT(draw_lines);
HWY_EXPORT(largest_score);
HWY_EXPORT(count_above);

bool supported() {
  static const bool kSupported = (hwy::SupportedTargets() & HWY_TARGETS) != 0;  // asks the CPU: microseconds
  return kSupported;
}

void products(const double* q, const float* q_size, std::int64_t rows, const double* k, const float* k_size,
              std::int64_t keys, std::int64_t d, double* dot, float* size, std::int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(products)(q, q_size, rows, k, k_size, keys, d, dot, size, pitch);
}

double weight_sum(const double* score, std::int64_t n, double max) {
  return HWY_DYNAMIC_DISPATCH(weight_sum)(score, n, max);
}

std::int64_t weigh(const RowModel& row, const WeightScale& scale, std::int64_t n, RowWeights& to, WeightSums& sums,
                   std::int64_t* left) {
  return HWY_DYNAMIC_DISPATCH(weigh)(row, scale, n, to, sums, left);
}

void charge_keys(const PathCosts& costs, const PathKeys& keys, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(charge_keys)(costs, keys, n);
}

void sum_keys(const SummedKeys& keys, std::int64_t n, KeySums& sums) { HWY_DYNAMIC_DISPATCH(sum_keys)(keys, n, sums); }

std::int64_t quotients(const QuotientRow& row, std::int64_t n, ElementBound* bounds, std::int64_t* left) {
  return HWY_DYNAMIC_DISPATCH(quotients)(row, n, bounds, left);
}

void sum_columns(const PassRow* rows, std::int64_t count, const PassValues& values) {
  HWY_DYNAMIC_DISPATCH(sum_columns)(rows, count, values);
}

void finish_columns(const PassRow& row, const RowConstants& constants, const double* unscale, std::int64_t width,
                    ElementBound* bounds, double* ranges, std::uint8_t* unsettled) {
  HWY_DYNAMIC_DISPATCH(finish_columns)(row, constants, unscale, width, bounds, ranges, unsettled);
}

void numerator_weights(const NumeratorInputs& in, std::int64_t n, double* growth, double* numerator, double* rest,
                       NumeratorSums& sums) {
  HWY_DYNAMIC_DISPATCH(numerator_weights)(in, n, growth, numerator, rest, sums);
}

void above_shares(const NumeratorInputs& in, std::int64_t n, const double* numerator, const double* rest,
                  double coherent_share, double rest_share, double& coherent_extra, double& rest_extra) {
  HWY_DYNAMIC_DISPATCH(above_shares)(in, n, numerator, rest, coherent_share, rest_share, coherent_extra, rest_extra);
}

void score_dots(const DotCosts& costs, const DotInputs& in, std::int64_t n, const DotOutputs& out) {
  HWY_DYNAMIC_DISPATCH(score_dots)(costs, in, n, out);
}

float draw_lines(const float* units, const float* p, std::int64_t lines, float* slope, float* base) {
  return HWY_DYNAMIC_DISPATCH(draw_lines)(units, p, lines, slope, base);
}

void largest_score(const double* score, const double* error, std::int64_t n, double& max, double& max_error) {
  HWY_DYNAMIC_DISPATCH(largest_score)(score, error, n, max, max_error);
}

std::int64_t count_above(const double* score, const double* error, std::int64_t n, double limit) {
  return HWY_DYNAMIC_DISPATCH(count_above)(score, error, n, limit);
}

}  // namespace flashproof::bound::kernels

#endif  // HWY_ONCE
