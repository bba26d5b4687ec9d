// A small report.json for the tests of the page: a hardened kernel that passes, a published one that fails.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reference/problem/error.h"
#include "reports/views/html/html.h"

namespace flashproof {

using nlohmann::json;

inline json counts(int pass, int fail) {
  return {{"pass", pass},     {"undecided", 0},    {"vacuous", 0}, {"out_of_domain", 0},
          {"unsupported", 0}, {"inconclusive", 0}, {"fail", fail}};
}

inline json figure(double ratio) {
  return {{"elements", 64},
          {"finite_elements", 64},
          {"max_abs", 1e-7},
          {"mean_abs", 1e-8},
          {"max_ulp", 2.5},
          {"rmse", 2e-8},
          {"max_ratio", ratio},
          {"bias", {{"mean", 0.01}, {"limit", 0.5}, {"biased", false}}},
          {"ratio_octaves", {{"-3", 60}, {"-1", 4}}},
          {"ulp_octaves", {{"zero", 10}, {"0", 50}, {"1", 4}}}};
}

inline json record(const std::string& kernel, const std::string& form, const std::string& family,
                   const std::string& failure) {
  const bool fails = !failure.empty();
  json failures = json::object();
  if (fails) failures[failure] = 2;
  const json point = json::array({16, 3, 0.25, 1.5});
  const json decided = {{"share", 1.0}, {"decided", 64}};
  json worst = figure(0.43);
  if (fails) worst["max_ratio"] = "inf";
  return {{"kernel", kernel},
          {"problem", "softmax"},
          {"form", form},
          {"format", "f32"},
          {"executor", "cpu"},
          {"math", "det"},
          {"family", family},
          {"cases", 8},
          {"verdict", fails ? "fail" : "pass"},
          {"counts",
           {{"cases", counts(fails ? 6 : 8, fails ? 2 : 0)}, {"elements", counts(fails ? 126 : 128, fails ? 2 : 0)}}},
          {"failures", {{"cases", failures}, {"elements", failures}}},
          {"power", {{"o", decided}, {"lse", decided}}},
          {"max_ratio", fails ? json("inf") : json(0.43)},
          {"terms",
           {{"weights", 1.0}, {"numerator", 2.0}, {"denominator", 3.0}, {"output", 4.0}, {"dominating", "output"}}},
          {"figures", {{"o", worst}, {"lse", figure(0.2)}}},
          {"profile", {{"length", {point}}, {"magnitude", {point}}, {"merges", {point}}}},
          {"heat", fails ? json{{"tensor", "o"},
                                {"rows", 2},
                                {"cols", 4},
                                {"cell_rows", 1},
                                {"cell_cols", 1},
                                {"cells", {"01X.", "NNIF"}}}
                         : json()},
          {"laws", {{"within_bound", counts(8, 0)}}},
          {"witness",
           {{"case", "softmax:normal:3"},
            {"verdict", fails ? "fail(" + failure + ")" : "pass"},
            {"detail", "o[7] is off"},
            {"tensor", "o"},
            {"index", 7},
            {"computed", "nan"},
            {"exact", 0.25},
            {"error", "inf"},
            {"ratio", "inf"},
            {"replay", "./flashproof replay softmax:normal:3"}}},
          {"ledger", nullptr}};
}

inline json document() {
  return {{"schema", "flashproof.report/5"},
          {"runs",
           {{{"compiler", "g++ 12"},
             {"date", "2026-11-22"},
             {"tier", "standard"},
             {"seed", 0},
             {"partial", nullptr},
             {"cases", 12},
             {"kernel_runs", 24},
             {"timing", {{"wall_seconds", 2.5}}}}}},
          {"records",
           {record("softmax.safe.hardened", "hardened", "normal", ""),
            record("softmax.naive.published", "published", "huge", "class_mismatch")}},
          {"investigate", json::array()},
          {"faults", nullptr},
          {"bench", nullptr}};
}

inline std::string refusal(const json& report) {
  try {
    html_text(report);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

}  // namespace flashproof
