// D1 of the derivation: what is lost when P is stored is multiplied by every rounding that follows, like the rest of the sum
// (README.md, section 3: z̄_j e^{R_j}).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/test/one_row.h"

namespace flashproof::bound {
namespace {

struct Row {
  const char* name;
  Format stored;
  BlockFma unit;
  int cut;         // addends that a step cuts (attention_scores.h, unit_step())
  float score;     // of the key whose weight lies just above half of `rounded`
  double rounded;  // the smallest number of the format
  int keys;
};

/// One key with a value, beside the maximum's; then steps in each of which the accumulator grows by all that the derivation
/// allows, 1 + β. (Hardware that truncates does not grow beside zeros: this is the machine of the proof, not a run of a GPU.)
double error_over_bound(const Row& row, bool& in_domain) {
  std::vector<float> scores(row.keys, -20.0F), values(row.keys, 0.0F);
  scores[0] = 0;
  scores[1] = row.score;
  values[1] = 1;
  AttentionProblem p = one_row(scores, values, row.keys);
  p.v = Tensor::dense(row.stored, {1, 1, row.keys, 1});
  for (int j = 0; j < row.keys; ++j) p.v.set({0, 0, j, 0}, values[j]);
  Arithmetic a = declared(Reduction::chunk_deferred);
  a.values.unit = row.unit;
  a.weights.format = row.stored;
  const Bound bound = compute_bound(p, a);
  in_domain = bound.domain_of(0).holds();
  const double cut = std::ldexp(row.cut, -row.unit.f), beta = cut + std::ldexp(1 + cut, -row.unit.ofb);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score));
  const double grown = row.rounded * std::pow(1 + beta, row.keys / row.unit.k);
  return (grown - std::exp(static_cast<double>(row.score))) / sum / bound.o[0].total();
}

TEST(StoredLoss, what_storing_loses_grows_with_the_sum) {
  const Row rows[] = {
      {"e4m3", Format::e4m3fn, kHopperWgmmaFp8, 33, -6.9314F, 0x1p-9, 512},
      {"e4m3", Format::e4m3fn, kHopperWgmmaFp8, 33, -6.9314F, 0x1p-9, 2048},
      {"e4m3", Format::e4m3fn, kHopperWgmmaFp8, 33, -6.9314F, 0x1p-9, 8192},
      {"e4m3", Format::e4m3fn, kHopperWgmmaFp8, 33, -6.9314F, 0x1p-9, 32768},
      {"f16", Format::f16, kHopperF16, 16, -17.3285F, 0x1p-24, 32768},
  };
  for (const Row& row : rows) {
    bool in_domain = false;
    const double ratio = error_over_bound(row, in_domain);
    std::cout << row.name << ", " << row.keys << " keys: err/bound " << ratio << '\n';
    EXPECT_TRUE(in_domain);
    EXPECT_LE(ratio, 1) << row.name << ", " << row.keys << " keys";
    EXPECT_GT(ratio, 0.1) << "not the worst case any more";
  }
}

}  // namespace
}  // namespace flashproof::bound
