// The problems that the other tests draw: are they legal, does every feature come alone and mixed, and do the changes of
// layout keep the meaning?
#include "reference/oracle/test/test_problems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "reference/oracle/test/reference.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using test::Mix;

constexpr std::uint64_t kSeeds = 600;

ReferenceResult<double> reference_of(const Problem& problem) {
  return visit_forward([](const auto& p) { return reference<double>(p); }, problem);
}

TEST(HardKinds, AreLegalAndTheSameEveryTime) {
  const std::vector<test::Kind>& kinds = test::hard_kinds();
  EXPECT_GE(kinds.size(), 60U);
  EXPECT_EQ(kinds[12].name, "attention normal") << "containment_test takes it by this index";
  std::set<std::string> names;
  for (std::size_t n = 0; n < kinds.size(); ++n) {
    EXPECT_TRUE(names.insert(kinds[n].name).second) << kinds[n].name;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed, n);
      const Problem problem = kinds[n].make(random);
      ASSERT_NO_THROW(validate(problem)) << kinds[n].name;
      const OutputShape shape = output_shape(problem);
      EXPECT_GE(shape.rows * (shape.width + 1), 15) << kinds[n].name;
      Random again(seed, n);
      const ReferenceResult<double> first = reference_of(problem), second = reference_of(kinds[n].make(again));
      EXPECT_EQ(first.o, second.o) << kinds[n].name << ": or something that no key owns was read";
    }
  }
}

TEST(RandomProblem, DrawsEveryFeatureAloneAndMixed) {
  std::map<Feature, int> alone, bare, seen;  // the only feature; and without causal, lengths and bias too
  std::set<std::pair<Feature, Feature>> pairs;
  int sinks_of_no_key = 0, empty_queries = 0, empty_keys = 0, unused_entries = 0, zero_lengths = 0, gqa = 0, shared = 0;
  int unused_nan = 0, kinds[3] = {}, formats[3] = {};
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Problem problem = test::random_problem(seed);
    ASSERT_NO_THROW(validate(problem)) << seed;
    ++kinds[static_cast<int>(kind_of(problem))];
    ++formats[format_of(problem) == Format::f32 ? 0 : (format_of(problem) == Format::f16 ? 1 : 2)];
    const auto* p = std::get_if<AttentionProblem>(&problem);
    if (p == nullptr) continue;
    const std::vector<Feature> features = p->features();
    for (const Feature a : features) {
      ++seen[a];
      for (const Feature b : features) pairs.insert({a, b});
    }
    if (features.size() == 1) {
      ++alone[features[0]];
      // Pages whose room is not full need a key_length.
      if (!p->causal && !p->has_bias() && (p->key_length.empty() || p->paged())) ++bare[features[0]];
    }
    gqa += p->q_heads() > p->k_heads() && p->k_heads() > 1;
    for (std::int64_t h = 0; h < p->q_heads() && p->has_sink(); ++h) sinks_of_no_key += p->sink.at({h}) == -kInfinity;
    for (std::int64_t s = 0; s < p->sequences(); ++s) {
      empty_queries += p->q_length(s) == 0;
      empty_keys += p->k_length(s) == 0;
      zero_lengths += !p->key_length.empty() && p->key_length[s] == 0;
    }
    for (const std::int32_t page : p->page_table) unused_entries += page < 0 || page >= p->k.shape[0];
    if (p->paged() && p->sequences() > 1 && p->visible_length(0) > 0 && p->visible_length(1) > 0) {
      shared += p->page_table[0] == p->page_table[p->pages_per_sequence()];
    }
    const std::vector<std::byte> stored = dense_bytes(p->k);
    for (std::size_t n = 0; n < stored.size(); n += bytes_of(p->k.format)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, stored.data() + n, static_cast<std::size_t>(bytes_of(p->k.format)));
      unused_nan += std::isnan(decode(p->k.format, bits));
    }
  }
  EXPECT_EQ(seen.size(), 8U);
  EXPECT_EQ(pairs.size(), 64U);
  for (const auto& [feature, count] : seen) {
    EXPECT_GE(count, 40) << name(feature);
    EXPECT_GE(alone[feature], 5) << name(feature);
    EXPECT_GE(bare[feature], 1) << name(feature);
  }
  for (const int count : {sinks_of_no_key, empty_queries, empty_keys, unused_entries, zero_lengths, gqa, unused_nan}) {
    EXPECT_GE(count, 30);
  }
  EXPECT_GE(shared, 5);
  for (const int count : kinds) EXPECT_GE(count, 50);
  for (const int count : formats) EXPECT_GE(count, 100);
}

// NaN lies wherever no visible key does: a reference that looked there would return it.
TEST(RandomProblem, TheReferenceSeesNoStorageOfNobody) {
  std::size_t elements = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const ReferenceResult<double> result = reference_of(test::random_problem(seed));
    for (const double o : result.o) ASSERT_TRUE(std::isfinite(o)) << seed;
    for (const double lse : result.lse) ASSERT_TRUE(std::isfinite(lse) || lse == -kInfinity) << seed;
    elements += result.o.size();
  }
  EXPECT_GE(elements, 15000U);
}

/// What the layouts may meet.
Mix any_mix(Random& random) {
  Mix mix;
  for (bool* part : {&mix.causal, &mix.bias, &mix.window, &mix.softcap, &mix.alibi, &mix.sink}) {
    *part = random.chance(0.5);
  }
  return mix;
}

TEST(Layouts, PagesDoNotChangeABit) {
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 1);
    Mix mix = any_mix(random);
    mix.packed = random.chance(0.5);
    const AttentionProblem p = test::random_attention(random, Format::f32, mix, random.chance(0.5));
    const AttentionProblem paged = test::in_pages(p, random.integer(1, 5), random);
    ASSERT_NO_THROW(validate(paged)) << seed;
    const auto expected = reference<double>(p), result = reference<double>(paged);
    ASSERT_EQ(result.o, expected.o) << seed;
    ASSERT_EQ(result.lse, expected.lse) << seed;
    moved += paged.paged() && paged.page_table[0] != 0;
  }
  EXPECT_GE(moved, 50);
}

TEST(Layouts, PacksChangeTheOrderOfRowsAlone) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 2);
    Mix mix = any_mix(random);
    mix.bias = false;
    mix.lengths = random.chance(0.5);
    const AttentionProblem p = test::random_attention(random, Format::f32, mix, random.chance(0.5));
    const AttentionProblem pack = test::in_one_pack(p);
    ASSERT_NO_THROW(validate(pack)) << seed;
    const auto expected = reference<double>(p), result = reference<double>(pack);
    ASSERT_EQ(result.lse.size(), expected.lse.size());
    for (std::int64_t s = 0; s < p.batch(); ++s) {
      for (std::int64_t h = 0; h < p.q_heads(); ++h) {
        for (std::int64_t i = 0; i < p.q_length(); ++i) {
          const std::int64_t from = p.output_row(s, h, i), to = pack.output_row(s, h, i), dv = p.value_dim();
          ASSERT_EQ(result.lse[to], expected.lse[from]) << seed;
          for (std::int64_t c = 0; c < dv; ++c) ASSERT_EQ(result.o[to * dv + c], expected.o[from * dv + c]) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashproof
