#include "reports/record/record.h"
#include "reference/problem/special_values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace flashproof {
namespace {

CaseResult result(std::uint64_t index, VerdictKind kind, double ratio, Failure failure = Failure::none) {
  CaseResult r;
  r.seed = index;
  r.sizes = CaseSizes{static_cast<double>(index), 1, 0};
  r.verdict = {kind, failure, ""};
  ElementFinding e;
  e.tensor = "o";
  e.ratio = ratio;
  r.elements.push_back(e);
  r.laws.push_back(r.verdict);
  if (r.failed()) r.heat = {"o", 1, 1, 1, 1, {index % 2 == 0 ? "N" : "X"}};
  r.o.elements = 1;
  r.o.max_ratio = ratio;
  r.o.sum_abs.add(ratio == ratio && ratio < 1e300 ? ratio : 0.1);
  return r;
}

Record empty_record() {
  Record record;
  record.kernel = &kernels().front();
  return record;
}

std::string fingerprint(const Record& r) {
  std::string text = r.o.serialize() + "|" + r.lse.serialize();
  for (const auto n : r.by_case) text += " " + std::to_string(n);
  for (const auto n : r.failures_by_case) text += " " + std::to_string(n);
  for (const auto& [law, counts] : r.laws) {
    for (const auto n : counts) text += " " + std::to_string(n);
  }
  if (r.worst)
    text += " worst " + std::to_string(r.worst->seed) + to_string(r.worst->verdict) + r.worst->heat.serialize();
  const auto sets = [&](const auto& list) {
    for (const SeedSet& set : list) {
      text += " of";
      for (const auto& [first, last] : set.intervals()) text += fmt::format(" {}..{}", first, last);
    }
  };
  sets(r.seeds_by_kind);
  sets(r.seeds_by_failure);
  for (const auto& [first, last] : r.seeds.intervals()) text += fmt::format(" seeds {}..{}", first, last);
  for (const auto& [octave, point] : r.profile.length) {
    text += fmt::format(" {}:{},{},{}", octave, point.cases, point.max_ratio, point.max_ulp);
  }
  return text;
}

/// One pass used to outrank any number of elements that decided nothing.
TEST(Record, a_pass_among_cases_that_decide_little_is_undecided) {
  Record record = empty_record();
  CaseResult decided = result(0, VerdictKind::pass, 0.1);
  decided.power.of(Part::o).counts[static_cast<std::size_t>(Decided::yes)] = 49;
  record.add(decided);
  EXPECT_EQ(record.verdict(), VerdictKind::pass);
  CaseResult outside = result(1, VerdictKind::out_of_domain, 0.1);
  outside.power.of(Part::o).counts[static_cast<std::size_t>(Decided::outside)] = 51;
  record.add(outside);
  EXPECT_EQ(record.verdict(), VerdictKind::undecided);
  EXPECT_EQ(record.power.of(Part::o).elements(), 100U);
  Record other = empty_record();
  other.add(decided);
  record.merge(other);
  EXPECT_EQ(record.verdict(), VerdictKind::pass);
}

TEST(Record, any_order_and_any_grouping_of_the_cases_gives_the_same_record) {
  std::vector<CaseResult> results = {result(0, VerdictKind::pass, 0.1),
                                     result(1, VerdictKind::pass, 1e-9),
                                     result(2, VerdictKind::vacuous, 0.3),
                                     result(3, VerdictKind::out_of_domain, 0.7),
                                     result(4, VerdictKind::pass, 0.7),
                                     result(5, VerdictKind::fail, 3.0, Failure::exceeds_bound),
                                     result(6, VerdictKind::fail, kNan, Failure::class_mismatch),
                                     result(7, VerdictKind::fail, kNan, Failure::laundering),
                                     result(8, VerdictKind::unsupported, -1)};
  Record reference = empty_record();
  for (const CaseResult& r : results) reference.add(r);
  EXPECT_EQ(reference.worst->seed, 6U);  // NaN is worst, then the lower index
  std::mt19937 generator(1);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(results.begin(), results.end(), generator);
    Record part[3] = {empty_record(), empty_record(), empty_record()};
    for (const CaseResult& r : results) part[generator() % 3].add(r);
    part[2].merge(part[0]);
    part[2].merge(part[1]);
    EXPECT_EQ(fingerprint(part[2]), fingerprint(reference));
  }
}

TEST(Record, a_fail_is_never_outvoted_and_nothing_executed_is_never_a_pass) {
  Record record = empty_record();
  EXPECT_EQ(record.verdict(), VerdictKind::unsupported);
  record.add(result(0, VerdictKind::vacuous, 0));
  EXPECT_EQ(record.verdict(), VerdictKind::vacuous);
  record.add(result(1, VerdictKind::out_of_domain, 0));
  EXPECT_EQ(record.verdict(), VerdictKind::out_of_domain);
  record.add(result(2, VerdictKind::pass, 0.5));
  EXPECT_EQ(record.verdict(), VerdictKind::pass);
  record.add(result(3, VerdictKind::inconclusive, 0.99));
  EXPECT_EQ(record.verdict(), VerdictKind::inconclusive);
  record.add(result(4, VerdictKind::fail, 0.2, Failure::leak));
  EXPECT_EQ(record.verdict(), VerdictKind::fail);
  EXPECT_EQ(record.worst->seed, 4U);  // although another ratio is larger
  EXPECT_EQ(record.failures_by_case[static_cast<std::size_t>(Failure::leak)], 1U);
  EXPECT_EQ(record.cases, 5U);
  using Intervals = std::vector<SeedSet::Interval>;
  EXPECT_EQ(record.seeds_by_failure[static_cast<std::size_t>(Failure::leak)].intervals(), (Intervals{{4, 4}}));
  EXPECT_EQ(record.seeds_by_kind[static_cast<std::size_t>(VerdictKind::inconclusive)].intervals(), (Intervals{{3, 3}}));
  EXPECT_TRUE(record.seeds_by_kind[static_cast<std::size_t>(VerdictKind::pass)].empty());
  EXPECT_TRUE(record.seeds_by_kind[static_cast<std::size_t>(VerdictKind::fail)].empty());
}

TEST(Record, keeps_the_heat_and_the_recipe_of_its_worst_case) {
  Kernel kernel;
  kernel.id = "softmax.x.hardened";
  kernel.problem = ProblemKind::softmax;
  Record record;
  record.kernel = &kernel;
  record.family = "normal";
  EXPECT_EQ(worst_case_line(record), "-");
  record.add(result(9, VerdictKind::fail, 3, Failure::exceeds_bound));
  record.add(result(12, VerdictKind::pass, 5));
  record.add(result(4, VerdictKind::fail, 3, Failure::exceeds_bound));
  EXPECT_EQ(worst_case_line(record), "softmax:normal:4:format=f32") << "of equals the lower seed";
  EXPECT_EQ(record.worst->heat.cells, std::vector<std::string>{"N"});
  EXPECT_EQ(record.seeds.intervals(), (std::vector<SeedSet::Interval>{{4, 4}, {9, 9}, {12, 12}}));
  EXPECT_EQ(record.profile.length.size(), 2U);  // 4, and 8..15
  EXPECT_EQ(record.profile.length.at(3).cases, 2U);
}

TEST(SeedSet, what_two_sets_share_and_what_one_lacks_is_what_single_seeds_say) {
  std::mt19937 generator(2);
  for (int trial = 0; trial < 200; ++trial) {
    SeedSet a, b, both, rest;
    for (std::uint64_t seed = 0; seed < 24; ++seed) {
      const bool in_a = generator() % 2 == 0, in_b = generator() % 2 == 0;
      if (in_a) a.add(seed);
      if (in_b) b.add(seed);
      if (in_a && in_b) both.add(seed);
      if (in_a && !in_b) rest.add(seed);
    }
    EXPECT_EQ(a.intersection(b), both);
    EXPECT_EQ(b.intersection(a), both);
    EXPECT_EQ(a.without(b), rest);
  }
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  SeedSet all, end;
  all.add({0, kLast});
  end.add(kLast);
  EXPECT_TRUE(end.without(all).empty());
  EXPECT_EQ(all.without(end).intervals(), (std::vector<SeedSet::Interval>{{0, kLast - 1}}));
}

TEST(SeedSet, has_one_spelling_per_set) {
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  std::vector<SeedSet::Interval> parts = {{0, 3}, {5, 5}, {4, 4}, {9, 12}, {11, 20}, {kLast - 1, kLast}};
  std::mt19937 generator(1);
  for (int i = 0; i < 30; ++i) {
    std::shuffle(parts.begin(), parts.end(), generator);
    SeedSet set, half;
    for (std::size_t p = 0; p < parts.size(); ++p) (p % 2 == 0 ? set : half).add(parts[p]);
    set.merge(half);
    EXPECT_EQ(set.intervals(), (std::vector<SeedSet::Interval>{{0, 5}, {9, 20}, {kLast - 1, kLast}}));
    EXPECT_EQ(set.size(), 20U);
  }
  SeedSet a, b;
  a.add({3, 7});
  b.add({8, 9});
  EXPECT_FALSE(a.common(b));
  b.add({0, 3});
  EXPECT_EQ(a.common(b), (SeedSet::Interval{3, 3}));
}

TEST(Record, rows_per_kernel_join_families_and_keep_formats_apart) {
  Kernel a, b;
  a.problem = b.problem = ProblemKind::softmax;
  a.id = "a.x.hardened";
  b.id = "b.x.hardened";
  std::vector<Record> records;
  for (const Kernel* kernel : {&b, &a}) {
    for (const Format format : {Format::f32, Format::f16}) {
      for (const char* family : {"normal", "huge"}) {
        Record r;
        r.kernel = kernel;
        r.format = format;
        r.family = family;
        r.add(result(0, VerdictKind::pass, 0.5));
        records.push_back(r);
      }
    }
  }
  const auto rows = per_kernel(records);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].kernel, &a);
  for (const Record& row : rows) {
    EXPECT_EQ(row.cases, 2U);
    EXPECT_EQ(worst_case_line(row), fmt::format("softmax:huge:0:format={}", info(row.format).name));
  }
}

}  // namespace
}  // namespace flashproof
