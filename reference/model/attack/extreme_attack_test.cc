// The bounds against the model where magnitudes are drawn over all that is legal, jointly (attack_extreme.h).
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "reference/bound/test/extreme_seed.h"
#include "reference/model/attack/attack_extreme.h"
#include "reference/model/attack/attack_judge.h"

#ifdef FLASHPROOF_EXTREME_CASES  // of all kinds of problem together; each is run several times
#define FLASHPROOF_EXTREME_NIGHTLY true
#else
#define FLASHPROOF_EXTREME_NIGHTLY false
#define FLASHPROOF_EXTREME_CASES 100'000
#endif

namespace flashproof {
namespace {

constexpr int kRunsPerCase = 4;  // aligned, opposed, extreme, up

struct Share {
  ProblemKind kind;
  std::int64_t percent;  // of the cases
};

class ExtremeAttack : public testing::TestWithParam<Share> {};

TEST_P(ExtremeAttack, never_exceeds_the_bound) {
  const auto [kind, percent] = GetParam();
  const std::optional<std::uint64_t> alone = attack::only_seed();
  const std::int64_t cases = alone ? 1 : FLASHPROOF_EXTREME_CASES * percent / 100;
  const std::uint64_t first =
      alone ? *alone : attack::first_seed(static_cast<std::uint64_t>(cases), FLASHPROOF_EXTREME_NIGHTLY);
  attack::Violations all;
  std::int64_t violating = 0, judged = 0;
  for (std::int64_t i = 0; i < cases; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const auto [problem, arithmetic] = attack::extreme(kind, seed);
    const attack::Violations tally = attack::attack(problem, arithmetic, arithmetic, seed, kRunsPerCase);
    if (tally.violations > 0 && ++violating <= 20) {
      ADD_FAILURE() << name(kind) << ", FLASHPROOF_EXTREME_SEED=" << seed << ": " << tally.first;
    }
    judged += tally.elements > 0 ? 1 : 0;
    all.take(tally);
  }
  std::cout << name(kind) << ": " << cases << " cases from seed " << first << " x " << kRunsPerCase << " runs, "
            << judged << " with an element that is judged, " << all.refused << " refused, " << violating
            << " beyond a bound; best err/bound " << all.worst.text() << '\n';
  EXPECT_EQ(violating, 0);
  EXPECT_TRUE(alone || judged > cases / 5) << "the attack has gone soft: " << judged;
}
INSTANTIATE_TEST_SUITE_P(all, ExtremeAttack,
                         testing::Values(Share{ProblemKind::attention, 70}, Share{ProblemKind::merge, 20},
                                         Share{ProblemKind::softmax, 10}),
                         [](const auto& info) { return std::string(name(info.param.kind)); });

}  // namespace
}  // namespace flashproof
