#include "reference/error/verdict.h"

#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <set>
#include <vector>

namespace flashproof {
namespace {

using K = VerdictKind;

constexpr K kKinds[] = {K::pass, K::vacuous, K::out_of_domain, K::unsupported, K::undecided, K::inconclusive, K::fail};
static_assert(std::size(kKinds) == kVerdictKinds);

std::vector<Verdict> every_verdict() {
  std::vector<Verdict> all;
  for (const K kind : kKinds) {
    if (kind != K::fail) all.push_back({kind, {}, {}});
  }
  for (std::size_t f = 1; f < kFailures; ++f) all.push_back({K::fail, static_cast<Failure>(f), {}});
  return all;
}

bool same(const Verdict& a, const Verdict& b) { return a.kind == b.kind && a.failure == b.failure; }

TEST(Verdict, NamesAreDistinct) {
  std::set<std::string> names;
  for (const Verdict& verdict : every_verdict()) names.insert(to_string(verdict));
  EXPECT_EQ(names.size(), every_verdict().size());
  EXPECT_EQ(to_string({K::fail, Failure::exceeds_bound, {}}), "fail(exceeds_bound)");
  EXPECT_EQ(to_string({K::out_of_domain, {}, {}}), "out_of_domain");
}

TEST(Verdict, CombineIsACommutativeAssociativeIdempotentOperation) {
  const auto all = every_verdict();
  for (const Verdict& a : all) {
    EXPECT_TRUE(same(combine(a, a), a));
    for (const Verdict& b : all) {
      EXPECT_TRUE(same(combine(a, b), combine(b, a)));
      for (const Verdict& c : all) EXPECT_TRUE(same(combine(combine(a, b), c), combine(a, combine(b, c))));
    }
  }
}

TEST(Verdict, PassNeedsAPass) {
  const Verdict pass, vacuous{K::vacuous, {}, {}}, outside{K::out_of_domain, {}, {}}, none{K::unsupported, {}, {}},
      unsure{K::inconclusive, {}, {}}, little{K::undecided, {}, {}}, wrong{K::fail, Failure::exceeds_bound, {}};
  EXPECT_EQ(combine(std::vector{vacuous, pass, outside, none}).kind, K::pass);
  EXPECT_EQ(combine(std::vector{little, pass}).kind, K::pass);
  EXPECT_EQ(combine(std::vector{outside, little, vacuous, none}).kind, K::undecided);
  EXPECT_EQ(combine(std::vector{none, vacuous, outside}).kind, K::out_of_domain);
  EXPECT_EQ(combine(std::vector{none, vacuous}).kind, K::vacuous);
  EXPECT_EQ(combine(std::vector{none, none}).kind, K::unsupported);
  EXPECT_EQ(combine(std::vector{pass, unsure, pass}).kind, K::inconclusive);
  EXPECT_EQ(combine(std::vector{unsure, wrong, pass}).kind, K::fail);
}

TEST(Verdict, NoCaseIsAFailure) { EXPECT_EQ(to_string(combine(std::span<const Verdict>{})), "fail(error)"); }

TEST(Verdict, DetailStaysWithTheOneThatStandsForBoth) {
  const Verdict first{K::fail, Failure::exceeds_bound, "first"}, second{K::fail, Failure::exceeds_bound, "second"},
      worse{K::fail, Failure::laundering, "worse"};
  EXPECT_EQ(combine(first, second).detail, "first");
  EXPECT_EQ(combine(first, worse).detail, "worse");
  EXPECT_EQ(combine(Verdict{}, first).detail, "first");
}

TEST(Verdict, CountsFollowTheSameRule) {
  for (unsigned subset = 1; subset < 1U << kVerdictKinds; ++subset) {
    std::array<std::uint64_t, kVerdictKinds> counts{};
    std::vector<Verdict> list;
    for (unsigned i = 0; i < kVerdictKinds; ++i) {
      if ((subset >> i & 1) == 0) continue;
      counts[static_cast<std::size_t>(kKinds[i])] = 3;
      list.push_back({kKinds[i], kKinds[i] == K::fail ? Failure::leak : Failure::none, {}});
    }
    EXPECT_EQ(combine(counts, K::unsupported), combine(list).kind);
  }
  EXPECT_EQ(combine(std::array<std::uint64_t, kVerdictKinds>{}, K::pass), K::pass);
}

}  // namespace
}  // namespace flashproof
