// Reports made by hand, for the tests of comparing.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reference/problem/error.h"
#include "reports/compare/document.h"

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

inline Json figure_json(double max_ratio, double max_ulp, Json octaves) {
  std::uint64_t n = 0;
  for (const auto& count : octaves) n += count.get<std::uint64_t>();
  return {{"elements", n},
          {"finite_elements", n},
          {"max_ratio", max_ratio},
          {"max_ulp", max_ulp},
          {"mean_abs", 1e-8},
          {"rmse", 2e-8},
          {"bias", {{"mean", 0.001}, {"limit", 0.03}, {"biased", false}, {"elements", n}}},
          {"ulp_octaves", std::move(octaves)},
          {"state", "kept"}};
}

/// 12 cases, all of which pass; error/bound 0.5, worst 1.5 ulp.
inline Json record_json(const std::string& kernel, const std::string& family) {
  Json record{{"kernel", kernel},
              {"problem", "softmax"},
              {"form", "hardened"},
              {"format", "f32"},
              {"executor", "cpu"},
              {"math", "det"},
              {"family", family},
              {"seeds", {{0, 11}}},
              {"cases", 12},
              {"counts", {{"cases", {{"pass", 12}, {"fail", 0}}}}},
              {"failures", {{"cases", {{"silently_wrong", 0}, {"class_mismatch", 0}}}}},
              {"max_ratio", 0.5},
              {"figures", {{"o", figure_json(0.5, 1.5, {{"zero", 10}, {"-2", 60}, {"-1", 28}, {"0", 2}})}}},
              {"ledger", nullptr}};
  record["witness"] = {{"case", "softmax:" + family + ":3:format=f32"},
                       {"verdict", "pass"},
                       {"tensor", "o"},
                       {"index", 7},
                       {"computed", 1.5},
                       {"exact", 1.0},
                       {"error", 0.5},
                       {"ratio", 0.5},
                       {"replay", "./flashproof replay out/x.safetensors"}};
  return record;
}

inline Json report_json() {
  Json report{{"schema", "flashproof.report/5"},
              {"runs",
               {{{"compiler", "g++"},
                 {"revision", "0123456789abcdef0123"},
                 {"gpu", "not used"},
                 {"seed", 0},
                 {"tier", "default"},
                 {"partial", nullptr},
                 {"date", "2026-11-22"}}}},
              {"records", Json::array()},
              {"bench", nullptr}};
  for (const char* kernel : {"softmax.a.hardened", "softmax.b.hardened"}) {
    for (const char* family : {"normal", "ties"}) report["records"].push_back(record_json(kernel, family));
  }
  return report;
}

/// Moves `n` of a record's passing cases to a failure.
inline void fail_cases(Json& record, const std::string& failure, std::uint64_t n) {
  record["counts"]["cases"]["pass"] = 12 - n;
  record["counts"]["cases"]["fail"] = n;
  record["failures"]["cases"][failure] = n;
  record["witness"]["verdict"] = "fail(" + failure + ")";
}

/// Through its text, as a file has it: counts are unsigned there.
inline Document document(const Json& report, const std::string& name = "a.json") {
  return document_of(Json::parse(report.dump()), name);
}

}  // namespace flashproof::compare
