// Reports made by hand, for the tests of comparing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reference/system/error.h"
#include "reports/compare/views/document.h"
#include "reports/record/test/made_report.h"

namespace flashproof::compare {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// What UsageError says, or "" if nothing is thrown.
template <class F>
std::string complaint(F f) {
  try {
    f();
  } catch (const UsageError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "";
}

/// Two kernels on two families.
inline Report small_report() {
  Report report = made_report();
  for (const char* kernel : {"softmax.a.hardened", "softmax.b.hardened"}) {
    for (const char* family : {"normal", "ties"}) report.result.records.push_back(made_record(kernel, family));
  }
  return report;
}

inline Record& record_of(Report& report, std::size_t i) { return report.result.records.at(i); }

/// The first `n` of a record's cases, which passed.
inline void fail_cases(Record& record, Failure failure, std::uint64_t n) {
  const std::uint64_t first = record.seeds.intervals().front().first;
  fail_seeds(record, failure, {first, first + n - 1});
}

/// The seeds first .. first + 11.
inline void move_seeds(Record& record, std::uint64_t first) {
  record.seeds = {};
  record.seeds.add(SeedSet::Interval{first, first + 11});
}

inline Document document(const Report& report, const std::string& name = "a.json") { return document_of(report, name); }

}  // namespace flashproof::compare
