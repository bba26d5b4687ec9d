// A run in pieces: the same cases in the same order, none of them much of the whole, and the long ones last but not at the end.
#include "reports/plugin/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "properties/generators/family.h"

namespace flashproof {
namespace {

CaseSpec spec_of(const char* family, std::uint64_t seed) { return {ProblemKind::softmax, family, seed, {}}; }

/// The seed is the work, in units of what is soon done.
double seed_of(const PluginTask& /*task*/, const CaseSpec& spec) { return kSoonDone * static_cast<double>(spec.seed); }

std::vector<PluginTask> two_families() {
  std::vector<PluginTask> tasks(2, PluginTask{nullptr, {}});
  for (std::uint64_t i = 0; i < 100; ++i) tasks[0].cases.push_back(spec_of("normal", 1));
  for (const std::uint64_t seed : {3, 200, 1000, 2, 400}) tasks[1].cases.push_back(spec_of("sizes", seed));
  return tasks;
}

TEST(Pieces, have_the_same_cases_in_the_same_order) {
  std::vector<std::string> before, after;
  for (const PluginTask& task : two_families()) {
    for (const CaseSpec& spec : task.cases) before.push_back(to_string(spec));
  }
  for (const PluginTask& piece : in_pieces(two_families(), seed_of)) {
    for (const CaseSpec& spec : piece.cases) after.push_back(to_string(spec));
  }
  EXPECT_EQ(after, before);
}

TEST(Pieces, are_one_case_or_a_small_share_of_the_whole) {
  for (const PluginTask& piece : in_pieces(two_families(), seed_of)) {
    double sum = 0;
    for (const CaseSpec& spec : piece.cases) sum += seed_of(piece, spec);
    EXPECT_TRUE(piece.cases.size() == 1 || sum <= kSoonDone * 1705 / 64) << sum;
  }
}

// The first case of a family, and its first costly one, are asked more than the others: a piece knows what came before it.
TEST(Pieces, know_the_case_before_them) {
  const std::vector<PluginTask> pieces = in_pieces(two_families(), seed_of);
  const CaseSpec* before = nullptr;
  for (const PluginTask& piece : pieces) {
    const bool first = before == nullptr || before->family != piece.cases.front().family;
    ASSERT_EQ(piece.before.has_value(), !first);
    if (!first) {
      EXPECT_EQ(to_string(*piece.before), to_string(*before));
    }
    before = &piece.cases.back();
  }
}

TEST(Pieces, with_data_stay_whole) {
  const Case data{};
  std::vector<PluginTask> tasks = two_families();
  tasks[1].data = &data;
  const std::vector<PluginTask> pieces = in_pieces(tasks, seed_of);
  EXPECT_EQ(pieces.back().cases.size(), tasks[1].cases.size());
}

TEST(Pieces, begin_with_the_small_ones_as_they_stand_and_end_with_the_least_of_the_large) {
  const std::vector<PluginTask> pieces = in_pieces(two_families(), seed_of);
  std::vector<std::uint64_t> small, large;
  for (const std::uint64_t place : turns(pieces, seed_of)) {
    const std::uint64_t seed = pieces[place].cases.front().seed;
    if (seed < 200) {
      EXPECT_TRUE(large.empty());
    }
    (seed < 200 ? small : large).push_back(seed < 200 ? place : seed);
  }
  EXPECT_TRUE(std::ranges::is_sorted(small));
  EXPECT_EQ(large, (std::vector<std::uint64_t>{1000, 400, 200}));
}

// A short run has few cases, each of which is much of the whole: what a wrong kernel fails first is still the first of the list.
TEST(Pieces, that_are_soon_done_begin_as_they_stand) {
  std::vector<PluginTask> tasks(2, PluginTask{nullptr, {}});
  tasks[0].cases.push_back(spec_of("normal", 1));
  tasks[1].cases.push_back(spec_of("sizes", 2));
  const auto small = [](const PluginTask& task, const CaseSpec& spec) { return seed_of(task, spec) / 4; };
  EXPECT_EQ(turns(tasks, small), (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(turns(tasks, seed_of), (std::vector<std::uint64_t>{0, 1}));  // 1 is no more than soon done
}

// What makes one case longer than another.
TEST(Pieces, work_grows_with_rows_and_keys) {
  const auto work = [](const char* text) { return work_of(make_case(parse_case_spec(text)).problem); };
  EXPECT_LT(work("softmax:normal:0:rows=4"), work("softmax:normal:0:rows=4000"));
  EXPECT_LT(work("attention:normal:0:sk=16"), work("attention:normal:0:sk=1600"));
  EXPECT_LT(work("merge:normal:0:n=2,rows=300"), work("merge:normal:0:n=16,rows=300"));
}

}  // namespace
}  // namespace flashproof
