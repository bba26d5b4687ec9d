// The families of attention's features really have them, in every shape that matters.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kManySeeds = 48;  // of the default report

template <class Check>
void for_each_problem(const char* family, Check check) {
  for (std::uint64_t seed = 0; seed < kManySeeds; ++seed) {
    const Case made = make_case({ProblemKind::attention, family, seed, {}});
    SCOPED_TRACE(to_string(made.spec));
    check(std::get<AttentionProblem>(made.problem));
  }
}

TEST(FeatureHazards, WindowsHideKeysAndSomeRowsSeeNone) {
  int hidden = 0, empty = 0, left = 0, right = 0;
  for_each_problem("window", [&](const AttentionProblem& p) {
    EXPECT_TRUE(p.has(Feature::window));
    left += p.window_left >= 0;
    right += p.window_right >= 0;
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      for (std::int64_t i = 0; i < p.q_length(s); ++i) {
        const auto keys = p.visible_keys(s, i);
        hidden += keys.last - keys.first < p.visible_length(s);
        empty += keys.first >= keys.last;
      }
    }
  });
  EXPECT_GE(hidden, 100);
  EXPECT_GE(empty, 10);
  EXPECT_GE(left, 10);
  EXPECT_GE(right, 10);
}

TEST(FeatureHazards, CapsSaturateAndLeaveScoresAlone) {
  int saturated = 0, straight = 0;
  for_each_problem("softcap", [&](const AttentionProblem& p) {
    ASSERT_GT(p.softcap, 0);
    for (const ScoreRow& row : rows_of(p)) {
      const double top = row_max(row);
      saturated += !p.has_bias() && top > 0.999 * p.softcap;
      straight += top > 0 && top < 0.1 * p.softcap;
    }
  });
  EXPECT_GE(saturated, 10);
  EXPECT_GE(straight, 10);
}

TEST(FeatureHazards, SlopesOfBothSignsAndZero) {
  int positive = 0, negative = 0, zero = 0;
  for_each_problem("alibi", [&](const AttentionProblem& p) {
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      for (std::int64_t h = 0; h < p.q_heads(); ++h) {
        const double slope = p.alibi.at({s, h});
        positive += slope > 0;
        negative += slope < 0;
        zero += slope == 0;
      }
    }
  });
  EXPECT_GE(positive, 20);
  EXPECT_GE(negative, 2);
  EXPECT_GE(zero, 2);
}

TEST(FeatureHazards, SinksBesideAnEmptyFirstChunkAndWithoutKeys) {
  int beside_empty_chunk = 0, alone = 0, none = 0, special = 0;
  for_each_problem("sink", [&](const AttentionProblem& p) {
    ASSERT_TRUE(p.has_sink());
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      const double sink = p.sink.at({h});
      none += sink == -INFINITY;
      special += std::isnan(sink) || sink == INFINITY;
    }
    for (const ScoreRow& row : rows_of(p)) {
      const std::vector<double> maxima = visited_maxima(row);
      const bool empty = row_max(row) == -INFINITY;
      alone += empty;
      beside_empty_chunk += !empty && maxima[0] == -INFINITY;
    }
  });
  EXPECT_GE(beside_empty_chunk, 10);
  EXPECT_GE(alone, 5);
  EXPECT_GE(none, 5);
  EXPECT_GE(special, 1);
}

TEST(FeatureHazards, PackedSequencesAreUnequalAndSomeEmpty) {
  int no_queries = 0, no_keys = 0;
  for_each_problem("packed", [&](const AttentionProblem& p) {
    ASSERT_TRUE(p.packed());
    EXPECT_GE(p.sequences(), 2);
    for (std::int64_t s = 0; s < p.sequences(); ++s) {
      no_queries += p.q_length(s) == 0;
      no_keys += p.q_length(s) > 0 && p.visible_length(s) == 0;
    }
  });
  EXPECT_GE(no_queries, 5);
  EXPECT_GE(no_keys, 5);
}

TEST(FeatureHazards, PagesOfEverySizePartlyUsed) {
  std::set<std::int64_t> sizes;
  int partial = 0, unused = 0, shared = 0, parts = 0;
  for_each_problem("paged", [&](const AttentionProblem& p) {
    ASSERT_TRUE(p.paged());
    const std::int64_t size = p.k.shape[2];
    for (std::int64_t s = 1; s < p.sequences(); ++s) {  // the last page of the shorter one
      const std::int64_t shorter = std::min(p.k_length(0), p.k_length(s));
      if (shorter == 0) continue;
      const auto page = static_cast<std::size_t>((shorter - 1) / size);
      const auto own = static_cast<std::size_t>(s * p.pages_per_sequence());
      shared += p.page_table[0] == p.page_table[own];
      parts += p.page_table[page] == p.page_table[own + page] && p.k_length(0) != p.k_length(s);
    }
    sizes.insert(size);
    for (std::int64_t s = 0; s < p.sequences(); ++s) partial += p.visible_length(s) % size != 0;
    for (const std::int32_t page : p.page_table) unused += page < 0;
  });
  EXPECT_EQ(sizes, (std::set<std::int64_t>{1, 16, 64, 256}));
  EXPECT_GE(partial, 20);
  EXPECT_GE(unused, 10);
  EXPECT_GE(shared, 10);
  EXPECT_GE(parts, 5) << "of a shared page sequences use different parts";
}

TEST(FeatureHazards, GroupsAndDims) {
  int sevens = 0, one_head = 0, latent = 0, odd = 0;
  for_each_problem("gqa", [&](const AttentionProblem& p) {
    EXPECT_GT(p.q_heads(), p.k_heads());
    sevens += p.q_heads() == 7 * p.k_heads();
    one_head += p.k_heads() == 1;
  });
  for_each_problem("dims", [&](const AttentionProblem& p) {
    latent += (p.head_dim() == 576 && p.value_dim() == 512) || (p.head_dim() == 192 && p.value_dim() == 128);
    odd += p.head_dim() % 2 == 1 && p.value_dim() % 2 == 1;
  });
  EXPECT_GE(sevens, 5);
  EXPECT_GE(one_head, 5);
  EXPECT_GE(latent, 4);
  EXPECT_GE(odd, 4);
}

TEST(FeatureHazards, MaximaWhereOneExponentialAloneLeavesTheRange) {
  int subnormal = 0, zero = 0, infinite = 0, safe = 0;
  for_each_problem("max_window", [&](const AttentionProblem& p) {
    EXPECT_GE(p.plan.chunks(), 2);
    for (const ScoreRow& row : rows_of(p)) {
      const double top = row_max(row);
      subnormal += top > 90 && top < 103.5;
      zero += top > 104;
      infinite += top < -88.8;
      safe += std::abs(top) < 86;
    }
  });
  EXPECT_GE(subnormal, 20);
  EXPECT_GE(zero, 5);
  EXPECT_GE(infinite, 5);
  EXPECT_GE(safe, 5);
}

/// Of a row that sees a key: is the largest bias below this?
bool wholly_below(const AttentionProblem& p, std::int64_t i, double level) {
  for (std::int64_t j = 0; j < p.k_length(); ++j)
    if (!(p.bias.at({0, 0, i, j}) < level)) return false;
  return p.k_length() > 0;
}

// Each once in a round, so in a default check of one kernel, forward and gradient.
TEST(FeatureHazards, FeaturesComeAtBothEndsOfTheirRanges) {
  for (const ProblemKind problem : {ProblemKind::attention, ProblemKind::backward}) {
    std::set<std::tuple<std::int32_t, std::int32_t, bool>> windows;
    int large_bias = 0, small_bias = 0, met_caps = 0, caps = 0;
    double least_slope = 1, largest_slope = 0, largest_sink = 0;
    for (std::uint64_t seed = 0; seed < find_family("feature_edges")->round(problem); ++seed) {
      const Problem drawn = make_case({problem, "feature_edges", seed, {}}).problem;
      const AttentionProblem& p = *attention_of(drawn);
      if (p.has(Feature::window)) windows.insert({p.window_left, p.window_right, p.causal});
      for (std::int64_t i = 0; p.has_bias() && i < p.q_length(); ++i) {
        large_bias += wholly_below(p, i, -1e30);
        small_bias += wholly_below(p, i, 0) && !wholly_below(p, i, -1);
      }
      caps += p.softcap > 0;
      met_caps += p.softcap > 0 && difficulty(drawn).saturation > 0.5;  // scores of the cap's size
      for (std::int64_t h = 0; h < p.q_heads(); ++h) {
        if (p.has_alibi()) least_slope = std::min(least_slope, std::abs(p.alibi.at({0, h})));
        if (p.has_alibi()) largest_slope = std::max(largest_slope, std::abs(p.alibi.at({0, h})));
        if (p.has_sink()) largest_sink = std::max(largest_sink, p.sink.at({h}));
      }
    }
    SCOPED_TRACE(name(problem));
    for (const bool causal : {false, true})
      for (const auto& [left, right] : {std::pair{0, -1}, std::pair{-1, 0}, std::pair{0, 0}})
        EXPECT_TRUE(windows.contains({left, right, causal})) << left << " " << right << " " << causal;
    EXPECT_GE(large_bias, 3);
    EXPECT_GE(small_bias, 1);
    EXPECT_LT(least_slope, 1e-7);
    EXPECT_GT(largest_slope, 1e30);
    if (problem == ProblemKind::backward) continue;
    EXPECT_EQ(met_caps, caps);
    EXPECT_GE(caps, 5);
    EXPECT_GT(largest_sink, 1e30);
  }
}

/// What `feature_pairs` puts together, by the number of its part.
std::vector<int> parts_of(const AttentionProblem& p) {
  const bool has[] = {p.causal,
                      p.k_heads() < p.q_heads(),
                      !p.key_length.empty(),
                      p.has(Feature::window),
                      p.has_alibi(),
                      p.has_bias(),
                      p.softcap > 0,
                      p.has_sink(),
                      p.packed(),
                      p.paged()};
  std::vector<int> parts;
  for (int part = 0; part < 10; ++part) {
    if (has[part]) parts.push_back(part);
  }
  return parts;
}

// The first round has any two, the second and those two behind it any three: of n parts n (n - 1) (n - 2) / 6, but no bias beside packed
// sequences.
TEST(FeatureHazards, AnyTwoMeetInARoundAndAnyThreeInTheNext) {
  for (const auto& [problem, of_two, of_three] :
       {std::tuple{ProblemKind::attention, 44U, 112U}, std::tuple{ProblemKind::backward, 15U, 20U}}) {
    const std::uint64_t rows = find_family("feature_pairs")->round(problem);
    EXPECT_EQ(rows, of_two);
    std::set<std::pair<int, int>> two;
    std::set<std::tuple<int, int, int>> three;
    for (const std::uint64_t round : {0, 1, 3, 5}) {
      for (std::uint64_t seed = round * rows; seed < (round + 1) * rows; ++seed) {
        const Problem drawn = make_case({problem, "feature_pairs", seed, {}}).problem;
        const std::vector<int> parts = parts_of(*attention_of(drawn));
        for (std::size_t i = 0; i < parts.size(); ++i) {
          for (std::size_t j = 0; j < i; ++j) {
            if (round == 0) two.emplace(parts[j], parts[i]);
            for (std::size_t k = 0; round > 0 && k < j; ++k) three.emplace(parts[k], parts[j], parts[i]);
          }
        }
      }
    }
    EXPECT_EQ(two.size(), of_two) << name(problem);
    EXPECT_EQ(three.size(), of_three) << name(problem);
  }
}

// Of the first round, which a default run has: beside every other feature sequences share a page, and beside those by which the place of a
// key counts one that stands at another place there.
TEST(FeatureHazards, PagesAreSharedBesideEachFeature) {
  constexpr std::uint64_t kFirst = 35, kRows = 44;  // the pairs whose second is pages
  for (std::uint64_t seed = kFirst; seed < kRows; ++seed) {
    const Problem drawn = make_case({ProblemKind::attention, "feature_pairs", seed, {}}).problem;
    const auto& p = std::get<AttentionProblem>(drawn);
    ASSERT_TRUE(p.paged()) << seed;
    const Difficulty d = difficulty(drawn);
    EXPECT_GE(d.shared_pages, 2) << seed;
    if (p.causal || p.has(Feature::window) || p.has_alibi()) {
      EXPECT_GE(d.moved_pages, 2) << seed;
    }
  }
}

TEST(FeatureHazards, FeaturesMeet) {
  std::set<std::pair<Feature, Feature>> met;
  for_each_problem("feature_mix", [&](const AttentionProblem& p) {
    for (const Feature a : p.features()) {
      for (const Feature b : p.features()) {
        if (a < b) met.insert({a, b});
      }
    }
  });
  EXPECT_EQ(met.size(), 15U);  // every pair of six
}

}  // namespace
}  // namespace flashproof
