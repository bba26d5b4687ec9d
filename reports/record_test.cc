#include "reports/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

namespace flashproof {
namespace {

CaseResult result(std::uint64_t index, VerdictKind kind, double ratio, Failure failure = Failure::none) {
  CaseResult r;
  r.case_index = index;
  r.verdict = {kind, failure, ""};
  ElementFinding e;
  e.tensor = "o";
  e.ratio = ratio;
  r.elements.push_back(e);
  r.laws.push_back(r.verdict);
  r.o.elements = 1;
  r.o.max_ratio = ratio;
  r.o.sum_abs.add(ratio == ratio && ratio < 1e300 ? ratio : 0.1);
  return r;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string fingerprint(const Record& r) {
  std::string text = r.o.serialize() + "|" + r.lse.serialize();
  for (const auto n : r.by_case) text += " " + std::to_string(n);
  for (const auto n : r.failures_by_case) text += " " + std::to_string(n);
  for (const auto& law : r.laws) {
    for (const auto n : law) text += " " + std::to_string(n);
  }
  if (r.worst) text += " worst " + std::to_string(r.worst->case_index) + to_string(r.worst->verdict);
  return text;
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
  Record reference;
  for (const CaseResult& r : results) reference.add(r);
  EXPECT_EQ(reference.worst->case_index, 6U);  // NaN is worst, then the lower index
  std::mt19937 generator(1);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(results.begin(), results.end(), generator);
    Record part[3];
    for (const CaseResult& r : results) part[generator() % 3].add(r);
    part[2].merge(part[0]);
    part[2].merge(part[1]);
    EXPECT_EQ(fingerprint(part[2]), fingerprint(reference));
  }
}

TEST(Record, a_fail_is_never_outvoted_and_nothing_executed_is_never_a_pass) {
  Record record;
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
  EXPECT_EQ(record.worst->case_index, 4U);  // although another ratio is larger
  EXPECT_EQ(record.failures_by_case[static_cast<std::size_t>(Failure::leak)], 1U);
  EXPECT_EQ(record.cases, 5U);
}

TEST(Record, rows_per_kernel_join_families_and_keep_formats_apart) {
  Kernel a, b;
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
  for (const Record& row : rows) EXPECT_EQ(row.cases, 2U);
}

}  // namespace
}  // namespace flashproof
