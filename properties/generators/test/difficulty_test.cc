// difficulty() measures what it says on problems small enough to do by hand, every family keeps its promises over its seeds,
// and a family that has gone soft does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

SoftmaxProblem softmax_of(const std::vector<std::vector<double>>& rows, std::vector<std::int32_t> boundary,
                          std::vector<std::int32_t> order) {
  const auto columns = static_cast<std::int64_t>(rows[0].size());
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {static_cast<std::int64_t>(rows.size()), columns});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::int64_t j = 0; j < columns; ++j) {
      p.x.set({static_cast<std::int64_t>(r), j}, rows[r][static_cast<std::size_t>(j)]);
    }
  }
  p.plan = {std::move(boundary), std::move(order)};
  return p;
}

TEST(Difficulty, OfARowByHand) {
  // Visited: (7, 2), (1, 1), (7, 7): no rise, a tie of three over two chunks, 8 octaves never exceeded.
  const Difficulty d = difficulty(softmax_of({{1, 1, 7, 7, 7, 2}}, {0, 2, 4, 6}, {2, 0, 1}));
  EXPECT_EQ(d.rows, 1);
  EXPECT_EQ(d.keys, 6);
  EXPECT_EQ(d.spread, 6);
  EXPECT_EQ(d.ties, 3);
  EXPECT_EQ(d.top_gap, 0);
  EXPECT_EQ(d.largest_logit, 7);
  EXPECT_EQ(d.rises, 0);
  EXPECT_EQ(d.first_is_max, 1);
  EXPECT_EQ(d.block_spread, 6);
  EXPECT_EQ(d.permuted, 3);
  EXPECT_EQ(d.partial_tiles, 0);
  EXPECT_NEAR(d.log_sum, 7 + std::log(3 + std::exp(-5) + 2 * std::exp(-6)), 1e-14);
  EXPECT_NEAR(d.deviation, std::sqrt(153.0 / 6 - 25.0 * 25 / 36), 1e-14);
}

TEST(Difficulty, OfALazyFrame) {
  // From -10: +5 stays (8 octaves are 5.545), +5.6 moves, then +5.5 stays and is nearest to the threshold.
  const Difficulty d = difficulty(softmax_of({{-10, -5, -4.375, 1.125}}, {0, 1, 2, 3, 4}, {0, 1, 2, 3}));
  EXPECT_EQ(d.rises, 3);
  EXPECT_EQ(d.rescales_taken, 1);
  EXPECT_EQ(d.rescales_skipped, 2);
  EXPECT_EQ(d.rising_keys, 1);
  EXPECT_NEAR(d.threshold_below, (8 * std::numbers::ln2 - 5.5) / (8 * std::numbers::ln2), 1e-14);
  EXPECT_EQ(d.lse_gap, 5.5);
}

TEST(Difficulty, OfHiddenChunksLengthsAndSentinels) {
  const double hidden = -INFINITY;
  SoftmaxProblem p = softmax_of({{hidden, hidden, -1e4, hidden, 1, 2, 3},
                                 {1, 2, 3, 4, hidden, hidden, hidden},
                                 {hidden, hidden, hidden, hidden, hidden, hidden, hidden}},
                                {0, 2, 4, 7}, {0, 1, 2});
  Difficulty d = difficulty(p);
  EXPECT_EQ(d.hidden_share, (3 + 3 + 7) / 21.0);
  EXPECT_EQ(d.empty_rows, 1 / 3.0);
  EXPECT_EQ(d.first_hidden, 1 / 3.0);
  EXPECT_EQ(d.middle_hidden, 0);
  EXPECT_EQ(d.last_hidden, 1 / 3.0);
  EXPECT_EQ(d.sentinel_gap, 0);
  EXPECT_EQ(d.below_sentinel, 0);
  p.row_length = {3, 2, 0};
  p.x.set({0, 5}, INFINITY);
  p.x.set({1, 5}, NAN);
  d = difficulty(p);
  EXPECT_EQ(d.partial_tiles, 1);
  EXPECT_EQ(d.lone_rows, 1 / 3.0);
  EXPECT_EQ(d.hidden_infs, 1 + 4 - 1 + 8 - 1);  // row 0: +inf and -inf at 3; row 1: three -inf; row 2: seven
  EXPECT_EQ(d.hidden_nans, 1);
}

AttentionProblem two_keys() {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 2, 1, 2});
  p.k = Tensor::dense(Format::f32, {1, 1, 2, 2});
  p.v = Tensor::dense(Format::f32, {1, 1, 2, 1});
  for (std::int64_t h = 0; h < 2; ++h) {
    p.q.set({0, h, 0, 0}, 1);
    p.q.set({0, h, 0, 1}, 1);
  }
  p.k.set({0, 0, 0, 0}, 1024);
  p.k.set({0, 0, 0, 1}, -1023);
  p.k.set({0, 0, 1, 0}, 1023);
  p.k.set({0, 0, 1, 1}, -1022);
  p.v.set({0, 0, 0, 0}, 1);
  p.v.set({0, 0, 1, 0}, -0.75);
  p.plan = ChunkPlan::uniform(2, 2);
  return p;
}

TEST(Difficulty, OfSumsThatCancel) {
  AttentionProblem p = two_keys();
  Difficulty d = difficulty(p);
  EXPECT_EQ(d.condition, 2047);  // of 2045 and 2047 the upper one
  EXPECT_EQ(d.cancellation, 7);  // equal weights: 1.75 / 0.25
  EXPECT_EQ(d.group, 2);
  EXPECT_EQ(d.one_signed, 0);
  EXPECT_EQ(d.kv_equal, 0);
  p.v.set({0, 0, 1, 0}, 0.75);
  p.v = Tensor::strided(Format::f32, {1, 1, 2, 1}, {4, 4, 2, 1});
  p.v.set({0, 0, 0, 0}, 0x1p-140);
  p.v.set({0, 0, 1, 0}, 0x1p127);
  d = difficulty(p);
  EXPECT_EQ(d.one_signed, 1);
  EXPECT_EQ(d.padding, 1);
  EXPECT_EQ(d.subnormal_share, 1 / 10.0);
  EXPECT_EQ(d.near_max_share, 1 / 10.0);
  p.k.set({0, 0, 0, 0}, NAN);
  EXPECT_EQ(difficulty(p).visible_nans, 1);
}

TEST(Difficulty, OfKeysHiddenFromSomeRows) {
  AttentionProblem p = two_keys();
  p.q = Tensor::strided(Format::f32, {1, 1, 2, 2}, {0, 0, 0, 1});  // two rows share their numbers
  p.q.set({0, 0, 0, 0}, 1);
  p.q.set({0, 0, 0, 1}, 1);
  p.causal = true;
  p.v.set({0, 0, 1, 0}, -INFINITY);  // seen by the second row alone
  const Difficulty d = difficulty(p);
  EXPECT_EQ(d.visible_infs, 0.5);
  EXPECT_EQ(d.hidden_infs, 1);
  EXPECT_EQ(d.broadcast, 1);
  EXPECT_EQ(d.hidden_share, 0.25);
}

TEST(Difficulty, OfPagesOfSeveralSequences) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {3, 1, 1, 2});
  p.k = Tensor::dense(Format::f32, {4, 1, 2, 2});
  p.v = Tensor::dense(Format::f32, {4, 1, 2, 1});
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) std::ranges::fill(tensor->storage, std::byte{0});
  p.page_table = {2, 0, 2, 1, 0, 2};
  p.key_length = {4, 3, 1};  // the last sequence has no key in page 2
  p.plan = ChunkPlan::uniform(4, 4);
  EXPECT_EQ(difficulty(p).shared_pages, 4);  // page 2 of two sequences, page 0 of two
  EXPECT_EQ(difficulty(p).moved_pages, 2);   // page 0 is the second of the first sequence and the first of the last
  p.page_table = {2, 0, 3, 1, 0, 2};
  EXPECT_EQ(difficulty(p).shared_pages, 2);
  p.key_length = {2, 3, 1};
  EXPECT_EQ(difficulty(p).shared_pages, 0);
  p.page_table = {2, 2, 3, 1, 0, 2};
  p.key_length = {4, 3, 1};
  EXPECT_EQ(difficulty(p).shared_pages, 2) << "twice in one sequence";
  EXPECT_EQ(difficulty(p).moved_pages, 2);
}

TEST(Difficulty, EveryFieldHasItsName) {
  std::set<std::string_view> names;
  for (const DifficultyField& field : difficulty_fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name;
  EXPECT_EQ(names.size() * sizeof(double), sizeof(Difficulty));
}

std::string_view name_of(double Difficulty::* field) {
  for (const DifficultyField& known : difficulty_fields()) {
    if (known.field == field) return known.name;
  }
  return "?";
}

/// The promises that the cases of `make` do not keep, where `family` would make them: one line each.
std::vector<std::string> broken_promises(const Family& family, Case (*make)(const CaseSpec&)) {
  std::vector<std::string> broken;
  for (const ProblemKind problem : family.problems) {
    std::vector<Difficulty> cases;
    for (const char* format : kFormatNames) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        cases.push_back(difficulty(make({problem, std::string(family.name), seed, {{"format", format}}}).problem));
      }
    }
    for (const Promise& promise : family.promises) {
      if (promise.only && *promise.only != problem) continue;
      const auto kept = static_cast<double>(
          std::ranges::count_if(cases, [&](const Difficulty& measured) { return promise.kept(measured); }));
      const double share = kept / static_cast<double>(cases.size());
      if (share >= promise.share) continue;
      broken.push_back(fmt::format("{}, {}: {} in {}..{} in {:.3f} of the cases, promised in {}", family.name,
                                   name(problem), name_of(promise.field), promise.at_least, promise.at_most, share,
                                   promise.share));
    }
  }
  return broken;
}

TEST(Difficulty, EveryFamilyKeepsItsPromises) {
  for (const Family& family : families()) {
    EXPECT_FALSE(family.promises.empty()) << family.name;
    for (const ProblemKind problem : family.problems) {
      EXPECT_TRUE(std::ranges::any_of(family.promises,
                                      [&](const Promise& promise) { return !promise.only || promise.only == problem; }))
          << family.name << " promises nothing of " << name(problem);
    }
    for (const std::string& line : broken_promises(family, family.make)) ADD_FAILURE() << line;
  }
}

// The negative control: with the cases of `normal` in their place, every other family breaks a promise of each problem.
TEST(Difficulty, AFamilyGoneSoftBreaksItsPromises) {
  Case (*soft)(const CaseSpec&) = find_family("normal")->make;
  for (const Family& family : families()) {
    if (family.name == "normal") continue;
    for (const ProblemKind problem : family.problems) {
      Family one = family;
      one.problems = {&problem, 1};
      EXPECT_FALSE(broken_promises(one, soft).empty()) << family.name << " of " << name(problem);
    }
  }
}

}  // namespace
}  // namespace flashproof
