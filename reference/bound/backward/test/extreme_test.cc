// Magnitudes and features over all that is legal, and declarations over all that is covered, jointly: no violation.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "reference/bound/backward/test/attack.h"
#include "reference/bound/backward/test/attack_extreme.h"
#include "reference/bound/test/extreme_seed.h"
#include "reference/oracle/backward/backward_truth.h"

namespace flashproof {
namespace {

#ifdef FLASHPROOF_BACKWARD_EXTREME_RUNS  // of the nightly build
#define FLASHPROOF_EXTREME_NIGHTLY true
#else
#define FLASHPROOF_EXTREME_NIGHTLY false
#define FLASHPROOF_BACKWARD_EXTREME_RUNS 100'000
#endif
constexpr int kDeclarations = 3, kRunsEach = 3;  // a named one, and drawn ones

/// Of what holds for no element: a key that is out of its domain may be lost, its dk and dv 0. Those alone are left out.
std::int64_t inside(const test::Attack& one) { return one.dq.violations + one.dk.violations + one.dv.violations; }

struct Tally {
  std::int64_t runs = 0, judged = 0, refused = 0, violating = 0;
  test::Attack all;
};

void attack_seed(std::uint64_t seed, Tally& named, Tally& drawn) {
  const auto [problem, forward] = test::extreme_backward(seed);
  const Truth truth = backward_truth(problem, Format::f32);
  Random random(seed, 78);
  const auto names = test::declared_backward(problem.forward.q.format);
  const auto& [name, fixed] = names[random.integer(0, static_cast<std::int64_t>(names.size()) - 1)];
  for (int n = 0; n < kDeclarations; ++n) {
    const BackwardArithmetic a = n == 0 ? fixed : test::any_declaration(random, problem);
    Tally& tally = n == 0 ? named : drawn;
    if (!test::takes(a, problem)) {
      ++tally.refused;
      continue;
    }
    const Bound bound = backward_bound(problem, a, forward);
    for (int run = 0; run < kRunsEach; ++run) {
      const test::Attack one =
          test::attack(problem, truth, bound, test::any_execution(random, a), test::any_roundings(random));
      ++tally.runs;
      tally.judged += one.dq.elements + one.dk.elements + one.dv.elements > 0 ? 1 : 0;
      tally.all += one;
      if (inside(one) == 0 || ++tally.violating > 20) continue;
      ADD_FAILURE() << "FLASHPROOF_EXTREME_SEED=" << seed << ", " << (n == 0 ? name : "drawn " + std::to_string(n))
                    << ", run " << run << ": " << one.text();
    }
  }
}

TEST(BackwardExtreme, problems_stay_within_their_bounds) {
  Tally named, drawn;
  if (const auto alone = attack::only_seed()) return attack_seed(*alone, named, drawn);
  std::uint64_t seed = attack::first_seed(FLASHPROOF_BACKWARD_EXTREME_RUNS, FLASHPROOF_EXTREME_NIGHTLY);
  std::printf("[ extreme ] from seed %llu\n", static_cast<unsigned long long>(seed));
  while (named.runs + drawn.runs < FLASHPROOF_BACKWARD_EXTREME_RUNS) attack_seed(seed++, named, drawn);
  for (const Tally* tally : {&named, &drawn}) {
    EXPECT_EQ(tally->violating, 0);
    EXPECT_GT(tally->judged, tally->runs / 3) << "the attack has gone soft";
    std::printf(
        "[ extreme ] %s: %lld runs, %lld with an element that is judged, %lld declarations without a meaning, "
        "%lld beyond a bound: %s\n",
        tally == &named ? "named" : "drawn", static_cast<long long>(tally->runs), static_cast<long long>(tally->judged),
        static_cast<long long>(tally->refused), static_cast<long long>(tally->violating), tally->all.text().c_str());
  }
}

}  // namespace
}  // namespace flashproof
