#include "properties/generators/backward_variant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

namespace flashproof {
namespace {

// At the thresholds of the tiled kernels (tiles of 16; groups of 32 columns: 32, 128, 256) and one beside them.
enum Dimension : std::uint8_t {
  kHeads,
  kBatch,
  kQueries,
  kKeys,
  kWidth,
  kValues,
  kMask,
  kFeature,
  kOutput,
  kScale,
  kLayout
};
constexpr int kDimensions = 11;
struct Heads {
  int q, k;
};
constexpr Heads kHeadLevels[] = {{1, 1}, {3, 3}, {2, 1}, {6, 2}, {8, 1}};
constexpr int kBatchLevels[] = {1, 2, 3};
constexpr int kQueryLevels[] = {1, 15, 17, 33, 48, 65};
constexpr int kKeyLevels[] = {1, 16, 17, 33, 50, 80};
constexpr int kWidthLevels[] = {1, 7, 32, 33, 128, 129, 256};
constexpr double kScaleLevels[] = {0, -20, 8};

using Row = std::vector<int>;
using Pair = std::tuple<int, int, int, int>;  // two dimensions and their levels

/// Products of the problem: the largest rows are left out, every pair of levels has smaller ones.
constexpr std::int64_t kMost = 1'500'000;

std::int64_t cost(const Row& row) {
  return std::int64_t{kHeadLevels[row[kHeads]].q} * kBatchLevels[row[kBatch]] * kQueryLevels[row[kQueries]] *
         kKeyLevels[row[kKeys]] * (kWidthLevels[row[kWidth]] + kWidthLevels[row[kValues]]);
}

template <class Visit>
void for_each_pair(const Row& row, Visit visit) {
  for (int a = 0; a < kDimensions; ++a) {
    for (int b = a + 1; b < kDimensions; ++b)
      visit(Pair{a, b, row[static_cast<std::size_t>(a)], row[static_cast<std::size_t>(b)]});
  }
}

Row drawn(Random& random) {
  Row row;
  do {
    row.clear();
    for (const VariantDimension& dimension : variant_dimensions()) {
      row.push_back(static_cast<int>(random.integer(0, std::ssize(dimension.levels) - 1)));
    }
  } while (cost(row) > kMost);
  return row;
}

/// Greedy: of many rows that hold a pair which is missing, the one that holds the most of them.
std::vector<Row> covering_array() {
  std::set<Pair> missing;
  const auto& dimensions = variant_dimensions();
  for (int a = 0; a < kDimensions; ++a) {
    for (int b = a + 1; b < kDimensions; ++b) {
      for (int x = 0; x < std::ssize(dimensions[static_cast<std::size_t>(a)].levels); ++x) {
        for (int y = 0; y < std::ssize(dimensions[static_cast<std::size_t>(b)].levels); ++y)
          missing.insert({a, b, x, y});
      }
    }
  }
  Random random(22, 0x9a17);
  std::vector<Row> rows;
  while (!missing.empty()) {
    const auto [a, b, x, y] = *missing.begin();
    Row best;
    std::int64_t most = 0;
    for (int draw = 0; draw < 60; ++draw) {
      Row row = drawn(random);
      row[static_cast<std::size_t>(a)] = x;
      row[static_cast<std::size_t>(b)] = y;
      if (cost(row) > kMost) continue;
      std::int64_t held = 0;
      for_each_pair(row, [&](const Pair& pair) { held += missing.contains(pair) ? 1 : 0; });
      if (held > most) most = held, best = std::move(row);
    }
    if (best.empty()) continue;  // all of the draws were too large: others
    for_each_pair(best, [&](const Pair& pair) { missing.erase(pair); });
    rows.push_back(std::move(best));
  }
  return rows;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = covering_array();
  return all;
}

int level(int variant, Dimension dimension) { return variant_levels(variant)[dimension]; }

bool hides(const Tensor& bias) {
  for (std::int64_t b = 0; b < bias.shape[0]; ++b) {
    for (std::int64_t h = 0; h < bias.shape[1]; ++h) {
      for (std::int64_t i = 0; i < bias.shape[2]; ++i) {
        for (std::int64_t j = 0; j < bias.shape[3]; ++j) {
          if (bias.at({b, h, i, j}) == -std::numeric_limits<double>::infinity()) return true;
        }
      }
    }
  }
  return false;
}

void add_feature(int variant, AttentionProblem& p, Random& random) {
  switch (level(variant, kFeature)) {
    case 1:
      if (p.has_bias()) return;
      p.bias = Tensor::dense(Format::f32, {p.batch(), p.q_heads(), p.q_length(), p.k_length()});
      for (std::int64_t n = 0; n < p.bias.elements(); ++n) {
        const double value = random.chance(0.1) ? -std::numeric_limits<double>::infinity() : random.normal();
        p.bias.set_bits(n, encode(Format::f32, value));
      }
      return;
    case 2:
      if (p.has_alibi()) return;
      p.alibi = Tensor::dense(Format::f32, {p.batch(), p.q_heads()});
      for (std::int64_t n = 0; n < p.alibi.elements(); ++n) {
        p.alibi.set_bits(n, encode(Format::f32, std::exp2(-random.uniform(1, 8))));
      }
      return;
    case 3:
      if (!p.key_length.empty()) return;
      for (std::int64_t b = 0; b < p.batch(); ++b) {
        p.key_length.push_back(static_cast<std::int32_t>(random.integer(0, p.k_length())));
      }
      return;
    default:
      return;
  }
}

}  // namespace

const std::vector<VariantDimension>& variant_dimensions() {
  static const std::vector<VariantDimension> all = {
      {"heads", {"1:1", "3:3", "2:1", "6:2", "8:1"}},
      {"batch", {"1", "2", "3"}},
      {"queries", {"1", "15", "17", "33", "48", "65"}},
      {"keys", {"1", "16", "17", "33", "50", "80"}},
      {"d", {"1", "7", "32", "33", "128", "129", "256"}},
      {"dv", {"1", "7", "32", "33", "128", "129", "256"}},
      {"mask", {"none", "causal", "left", "right", "both", "causal left"}},
      {"feature", {"none", "bias", "alibi", "lengths"}},
      {"o", {"as q", "f32 or bf16"}},
      {"dO", {"1", "2^-20", "2^8"}},
      {"layout", {"dense", "padded", "transposed"}},
  };
  return all;
}

int gradient_variants() { return static_cast<int>(rows().size()); }

const std::vector<int>& variant_levels(int variant) {
  return rows()[static_cast<std::size_t>(variant - 1) % rows().size()];
}

std::map<std::string, std::string> variant_keys(int variant) {
  const Heads heads = kHeadLevels[level(variant, kHeads)];
  const int mask = level(variant, kMask);
  return {
      {"b", std::to_string(kBatchLevels[level(variant, kBatch)])},
      {"hq", std::to_string(heads.q)},
      {"hk", std::to_string(heads.k)},
      {"sq", std::to_string(kQueryLevels[level(variant, kQueries)])},
      {"sk", std::to_string(kKeyLevels[level(variant, kKeys)])},
      {"d", std::to_string(kWidthLevels[level(variant, kWidth)])},
      {"dv", std::to_string(kWidthLevels[level(variant, kValues)])},
      {"causal", mask == 1 || mask == 5 ? "1" : "0"},
      {"layout", std::string(variant_dimensions()[kLayout].levels[static_cast<std::size_t>(level(variant, kLayout))])}};
}

void add_variant_features(int variant, AttentionProblem& p, Random& random) {
  if (p.has_bias() && !hides(p.bias)) p.bias = {};
  const int mask = level(variant, kMask);
  const auto width = [&] {
    return static_cast<std::int32_t>(random.integer(0, std::max<std::int64_t>(p.k_length() / 2, 1)));
  };
  if (p.window_left < 0 && (mask == 2 || mask >= 4)) p.window_left = width();
  if (p.window_right < 0 && (mask == 3 || mask == 4)) p.window_right = random.chance(0.3) ? 0 : width();
  add_feature(variant, p, random);
}

Format variant_o_format(int variant, Format q) {
  if (level(variant, kOutput) == 0) return q;
  return q == Format::f32 ? Format::bf16 : Format::f32;
}

int variant_d_out_exponent(int variant) { return static_cast<int>(kScaleLevels[level(variant, kScale)]); }

}  // namespace flashproof
