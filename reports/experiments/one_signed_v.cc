// Σ p v alone, on a matrix unit against f32 fma chains with the same stored P: scores uniform in (−2, 0), one chunk per 128
// keys, 64 columns, 8 rows. The mean signed difference in units of Σ p|v| is the drift of truncation.
#include <fmt/format.h>

#include "reference/bound/declare/presets.h"
#include "reference/problem/random.h"
#include "reports/experiments/experiments.h"
#include "reports/experiments/measure.h"

namespace flashproof {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kRows = 8;

AttentionProblem problem_of(Random& random, std::int64_t keys, bool positive, Format format) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f16, {1, 1, kRows, 1});
  p.k = Tensor::dense(Format::f16, {1, 1, keys, 1});
  p.v = Tensor::dense(Format::f16, {1, 1, keys, kColumns});
  for (std::int64_t i = 0; i < kRows; ++i) p.q.set({0, 0, i, 0}, random.uniform(0.5, 1));
  for (std::int64_t j = 0; j < keys; ++j) {
    p.k.set({0, 0, j, 0}, random.uniform(-2, 0));
    for (std::int64_t c = 0; c < kColumns; ++c) {
      const double v = positive ? random.uniform(0.25, 1.75) : random.normal();
      p.v.set({0, 0, j, c}, round_to(format, v));  // a number of the unit's format, held in f16
    }
  }
  p.plan = ChunkPlan::uniform(keys, 128);
  return p;
}

struct Unit {
  const char* name;
  BlockFma unit;
  Format format;
  int promote;
};

}  // namespace

std::string one_signed_v(std::uint64_t seed) {
  constexpr Unit kUnits[] = {{"Hopper f16 (K 16, F 25)", kHopperF16, Format::f16, 0},
                             {"Ampere f16 (K 8, F 24)", kAmpereF16, Format::f16, 0},
                             {"Hopper wgmma e4m3 (K 32, F 13), never promoted", kHopperWgmmaFp8, Format::e4m3fn, 0},
                             {"the same, promoted every 128 keys", kHopperWgmmaFp8, Format::e4m3fn, 128},
                             {"Blackwell e4m3 (K 32, F 25)", kBlackwellFp8, Format::e4m3fn, 0}};
  std::string table = "| unit | v | keys | mean signed | largest | of its bound |\n|---|---|---|---|---|---|\n";
  for (const Unit& unit : kUnits) {
    for (const bool positive : {false, true}) {
      for (const std::int64_t keys : {1024, 8192, 65536}) {
        Random random(seed, static_cast<std::uint64_t>(keys + (positive ? 1 : 0)));
        const Problem problem = problem_of(random, keys, positive, unit.format);
        Arithmetic a{.reduction = Reduction::chunk_deferred, .exp_error = 0x1p-22, .log_error = 0x1p-22, .lanes = 4};
        a.dot.chains = 1;
        a.weights.format = unit.format;
        a.weights.scale = unit.format == Format::e4m3fn ? 256 : 1;
        Arithmetic chains = a;
        a.values = {.chains = 1, .unit = unit.unit, .promote = unit.promote};
        const Output cut = run_model_unrounded(problem, a), exact = run_model_unrounded(problem, chains);
        const Bound bound = compute_bound(problem, a);
        double mean = 0, largest = 0, allowed = 0;
        for (std::int64_t i = 0; i < cut.o.elements(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const double difference =
              (decode(Format::f32, cut.o.bits(i)) - decode(Format::f32, exact.o.bits(i))) / bound.o[at].size;
          mean += difference;
          if (std::fabs(difference) > std::fabs(largest)) {
            largest = difference;
            allowed = std::fabs(difference) * bound.o[at].size / bound.o[at].numerator;
          }
        }
        mean /= static_cast<double>(cut.o.elements());
        table += fmt::format("| {} | {} | {} | {:.1e} | {:.1e} | {:.2g} |\n", unit.name,
                             positive ? "one-signed" : "N(0,1)", keys, mean, largest, allowed);
      }
    }
  }
  return table;
}

}  // namespace flashproof
