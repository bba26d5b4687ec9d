#include "reference/oracle/gpu/probe.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/problem/random.h"

namespace flashproof::gpu {
namespace {

constexpr int kProducts = 16;
constexpr int kRandomTiles = 64;

enum class Expect { nearest, exact, bounded };
struct Trial {
  ProbeTile tile{};
  Expect expect{};
};

double random_double(Random& random, int lowest, int highest) {
  const double x = std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(lowest, highest)));
  return random.chance(0.5) ? -x : x;
}

template <typename Draw>
void fill(double* values, int n, const Draw& draw) {
  for (int i = 0; i < n; ++i) values[i] = draw();
}

/// Every output has one product, of slot `slot`; the other slots hold zeros.
Trial one_product(Random& random, int slot, int c_exponent, int product_exponent) {
  Trial trial;
  trial.expect = Expect::nearest;
  for (auto& row : trial.tile.a) row[slot] = random_double(random, product_exponent - 3, product_exponent + 3);
  for (double& b : trial.tile.b[slot]) b = random_double(random, -3, 3);
  fill(&trial.tile.c[0][0], 128, [&] { return random_double(random, c_exponent - 2, c_exponent + 2); });
  return trial;
}

/// Ties: c = ±1 or ±(1 + 2^-52), the product ±2^-53, and its neighbours.
Trial ties(Random& random, int slot) {
  Trial trial;
  trial.expect = Expect::nearest;
  for (auto& row : trial.tile.a) {
    row[slot] = random.chance(0.4) ? 0x1p-53 : random.chance(0.5) ? 0x1.0000000000001p-53 : 0x1.fffffffffffffp-54;
  }
  for (double& b : trial.tile.b[slot]) b = random.chance(0.5) ? 1 : -1;
  fill(&trial.tile.c[0][0], 128, [&] {
    const double c = random.chance(0.5) ? 1 : 0x1.0000000000001p0;
    return random.chance(0.5) ? c : -c;
  });
  return trial;
}

/// Sums of integers below 2^53 are exact in any order.
Trial integers(Random& random) {
  Trial trial;
  trial.expect = Expect::exact;
  const auto draw = [&] { return static_cast<double>(random.integer(-(1 << 23), 1 << 23)); };
  fill(&trial.tile.a[0][0], 256, draw);
  fill(&trial.tile.b[0][0], 128, draw);
  fill(&trial.tile.c[0][0], 128, [&] { return std::ldexp(draw(), 24); });
  return trial;
}

/// c = 1 and 16 equal products of this size.
Trial equal_products(double product) {
  Trial trial;
  trial.expect = Expect::bounded;
  fill(&trial.tile.a[0][0], 256, [&] { return product; });
  fill(&trial.tile.b[0][0], 128, [] { return 1.0; });
  fill(&trial.tile.c[0][0], 128, [] { return 1.0; });
  return trial;
}

Trial dense(Random& random, int spread, bool cancel) {
  Trial trial;
  trial.expect = Expect::bounded;
  const auto draw = [&] { return random_double(random, -spread, spread); };
  fill(&trial.tile.a[0][0], 256, draw);
  fill(&trial.tile.b[0][0], 128, draw);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = 0;
      for (int k = 0; k < kProducts; ++k) sum += trial.tile.a[row][k] * trial.tile.b[k][column];
      trial.tile.c[row][column] = cancel ? -sum : draw();
    }
  }
  return trial;
}

std::vector<Trial> trials() {
  Random random(20261120, 1);
  std::vector<Trial> all;
  for (int slot = 0; slot < kProducts; ++slot) {
    all.push_back(ties(random, slot));
    for (const int apart : {-110, -54, -53, -52, -20, 0, 20, 52, 53, 54}) {
      all.push_back(one_product(random, slot, 0, apart));
    }
    all.push_back(one_product(random, slot, -1070, -1060));  // a subnormal c, and products that become subnormal
    all.push_back(one_product(random, slot, -1015, -1019));
  }
  for (const double product : {0x1.fffffffcp-53, 0x1.8p-53, 0x1.00000004p-53, 0x1.fffffffcp-54}) {
    all.push_back(equal_products(product));
    all.push_back(equal_products(-product));
  }
  for (int n = 0; n < kRandomTiles; ++n) {
    all.push_back(integers(random));
    all.push_back(dense(random, n % 20, n % 2 == 1));
  }
  return all;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Empty if output (row, column) is as expected.
std::string judge(const Trial& trial, double d, int row, int column) {
  const ProbeTile& t = trial.tile;
  const double c = t.c[row][column];
  // 64 bits: its own error, 17·2^-64 of the magnitude, is far below the bound of 17·2^-53.
  long double sum = c, magnitude = std::fabs(c);
  double fused = c, twice = c;
  for (int k = 0; k < kProducts; ++k) {
    const long double product = static_cast<long double>(t.a[row][k]) * t.b[k][column];
    sum += product;
    magnitude += std::fabs(product);
    if (t.a[row][k] == 0) continue;
    fused = std::fma(t.a[row][k], t.b[k][column], fused);
    twice += t.a[row][k] * t.b[k][column];
  }
  switch (trial.expect) {
    case Expect::nearest:
      return same_bits(d, fused) || same_bits(d, twice) ? "" : "a single product and sum are not rounded to nearest";
    case Expect::exact:
      return static_cast<long double>(d) == sum ? "" : "a sum of integers below 2^53 is not exact";
    case Expect::bounded:
      return std::fabs(d - sum) <= (kProducts + 1) * 0x1.02p-53L * magnitude ? ""
                                                                             : "a sum is beyond the any-order bound";
  }
  return "";
}

}  // namespace

std::string probe_failure(const MultiplyAdd& multiply_add) {
  const std::vector<Trial> all = trials();
  std::vector<ProbeTile> tiles;
  tiles.reserve(all.size());
  for (const Trial& trial : all) tiles.push_back(trial.tile);
  const std::vector<ProbeResult> results = multiply_add(tiles);
  for (std::size_t n = 0; n < all.size(); ++n) {
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        const std::string wrong = judge(all[n], results.at(n).d[row][column], row, column);
        if (!wrong.empty()) return wrong + " (trial " + std::to_string(n) + ")";
      }
    }
  }
  return {};
}

}  // namespace flashproof::gpu
