// Reports written, read back and merged: exactly, in any order, and nothing that is not a report.
#include "reports/record/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/system/error.h"
#include "reports/record/test/swept_report.h"
#include "reports/views/junit/junit.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const Filters kSome = {{"softmax.online_two_pass.*", "merge.broken.misprinted_lse", "merge.nway.hardened",
                        "attention_backward.two_kernels.hardened", "attention_backward.broken.delta*"},
                       {"normal", "mask_first_tile", "subnormal*"},
                       {"f32", "bf16"}};

class Merge : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "flashproof-merge-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    const std::pair<std::uint64_t, std::uint64_t> parts[] = {{0, 2}, {2, 1}, {3, 2}, {0, 5}};
    for (const auto& [first, seeds] : parts) texts_.push_back(report_of(kSome, first, seeds));
  }
  static void TearDownTestSuite() {
    fs::remove_all(folder_);
    texts_.clear();
  }
  static std::string file(const std::string& text, const std::string& name) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  static std::vector<std::string> parts() { return {file(texts_[0], "a"), file(texts_[1], "b"), file(texts_[2], "c")}; }
  static std::string merged(const std::vector<std::string>& files, bool allow_partial = false) {
    KernelNames names;
    return json_text(merge_reports(files, {allow_partial}, names), Spelled::out);
  }
  /// The complaint about a document; "" if it is taken.
  static std::string complaint(const std::string& text) {
    try {
      merged({file(text, "odd")});
      return "";
    } catch (const UsageError& e) {
      return e.what();
    }
  }

  static fs::path folder_;
  static std::vector<std::string> texts_;
};
fs::path Merge::folder_;
std::vector<std::string> Merge::texts_;

/// Files before the one sweep: the gradient's records last, and its seconds by themselves.
TEST_F(Merge, reads_records_in_any_order) {
  json older = json::parse(texts_[0]);
  std::ranges::stable_partition(older["records"], [](const json& r) { return r["problem"] != "attention_backward"; });
  older["runs"][0]["timing"]["gradient_seconds"] = 0.5;
  ASSERT_NE(older["records"], json::parse(texts_[0])["records"]);
  EXPECT_EQ(merged({file(older.dump(), "older")}), merged({file(texts_[0], "a")}));
  older["records"].push_back(older["records"][0]);
  EXPECT_THAT(complaint(older.dump()), HasSubstr("a key is there twice"));
}

TEST_F(Merge, what_is_read_is_what_was_written) {
  EXPECT_EQ(merged({file(texts_[3], "whole")}), texts_[3]);
  EXPECT_GT(json::parse(texts_[3])["records"].size(), 15U);
}

TEST_F(Merge, parts_in_any_order_and_grouping_make_the_whole) {
  std::vector<std::string> files = parts();
  const std::string all = merged(files);
  do {
    EXPECT_EQ(merged(files), all);
  } while (std::next_permutation(files.begin(), files.end()));
  EXPECT_EQ(merged({file(merged({files[2], files[0]}), "ca"), files[1]}), all);
  // The same records as one sweep over all the seeds, to the last bit of every statistic.
  const json whole = json::parse(texts_[3]);
  const json together = json::parse(all);
  EXPECT_EQ(together["records"], whole["records"]);
  EXPECT_EQ(together["investigate"], whole["investigate"]);
  EXPECT_EQ(together["runs"].size(), 3U);
}

TEST_F(Merge, all_forms_can_be_made_of_it) {
  KernelNames names;
  const Report report = merge_reports(parts(), {}, names);
  EXPECT_THAT(markdown_text(report), HasSubstr("## 3 runs"));
  EXPECT_THAT(table_text(report, 150, false), HasSubstr("FAIL class"));
  EXPECT_THAT(junit_text(report), HasSubstr("<testsuite name=\"softmax.online_two_pass.published\""));
  EXPECT_FALSE(report.findings.empty());
}

TEST_F(Merge, a_kernel_of_another_build_is_no_obstacle) {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < 3; ++i) {
    std::string text = texts_[i];
    for (const char* id : {"softmax.online_two_pass.", "attention_backward.two_kernels."}) {
      for (std::size_t at = 0; (at = text.find(id, at)) != std::string::npos;) {
        const std::size_t dot = text.find('.', at);
        text.replace(dot + 1, std::string(id).size() - (dot - at) - 2, "elsewhere");
      }
    }
    files.push_back(file(text, "elsewhere" + std::to_string(i)));
  }
  const std::string all = merged(files);
  EXPECT_THAT(all, HasSubstr("softmax.elsewhere.published"));
  std::ranges::reverse(files);
  EXPECT_EQ(merged(files), all);
}

TEST_F(Merge, a_case_never_counts_twice) {
  const std::vector<std::string> files = parts();
  EXPECT_THROW(merged({files[0], files[0]}), UsageError);
  json other = json::parse(texts_[0]);
  other["runs"][0]["date"] = "2026-11-23";
  try {
    merged({files[0], file(other.dump(), "again")});
    ADD_FAILURE() << "the same seeds twice";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("seeds 0..1 are in "));
    EXPECT_THAT(e.what(), HasSubstr("again: "));
  }
}

TEST_F(Merge, a_partial_run_is_taken_only_when_allowed) {
  json partial = json::parse(texts_[0]);
  partial["runs"][0]["partial"] = "interrupted before every case had run.";
  const std::string odd = file(partial.dump(), "partial");
  EXPECT_THAT(complaint(partial.dump()), HasSubstr("a partial run (interrupted before every case had run.)"));
  EXPECT_NE(merged({odd, parts()[1]}, true), "");
}

TEST_F(Merge, records_of_two_gpus_or_profiles_never_become_one) {
  const auto made_on = [](const std::string& text, const char* executors, const char* math, const char* gpu,
                          const char* profile) {
    json report = json::parse(text);
    json& run = report["runs"][0];
    run["executors"] = executors;
    run["math"] = math;
    run["gpu"] = gpu;
    if (*profile != '\0') run["profile"] = profile;
    return report.dump();
  };
  const std::string h200 = file(made_on(texts_[0], "cpu cuda", "all", "H200", "sm_90"), "h200");
  const auto with = [&](const char* executors, const char* math, const char* gpu, const char* profile) -> std::string {
    try {
      merged({h200, file(made_on(texts_[1], executors, math, gpu, profile), "other")});
      return "";
    } catch (const UsageError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(with("cpu cuda", "all", "H200", "sm_90"), "");
  EXPECT_EQ(with("cpu", "det", "not used", ""), "");
  EXPECT_EQ(with("cuda", "det", "H200", ""), "");
  EXPECT_THAT(with("cuda", "det", "B200", ""), HasSubstr("made on GPU \"B200\", another file on \"H200\""));
  EXPECT_THAT(with("cuda", "native", "H200", "sm_90x"), HasSubstr("native math by profile \"sm_90x\""));
}

TEST_F(Merge, says_in_which_facts_runs_differ) {
  KernelNames names;
  Report report = merge_reports(parts(), {}, names);
  EXPECT_TRUE(differing_facts(report.runs).empty());
  report.runs[1].environment.flags = "-O0";
  report.runs[2].environment.revision = "other";
  EXPECT_EQ(differing_facts(report.runs), (std::vector<std::string>{"revision", "flags"}));
}

TEST_F(Merge, what_is_no_report_is_refused_in_one_line_that_names_the_place) {
  const std::string& good = texts_[0];
  EXPECT_THAT(complaint(""), HasSubstr("no JSON"));
  EXPECT_THAT(complaint(good.substr(0, good.size() / 2)), HasSubstr("truncated"));
  EXPECT_THAT(complaint("[]"), HasSubstr("the document is a list, legal is an object"));
  EXPECT_THAT(complaint("{}"), HasSubstr("has no \"schema\""));
  EXPECT_THAT(complaint("{\"schema\": \"flashproof.report/4\"}"), HasSubstr("legal is \"flashproof.report/6\""));
  for (const std::string& deep : {std::string(100'000, '['), std::string(100'000, '[') + std::string(100'000, ']')}) {
    EXPECT_THAT(complaint(deep), HasSubstr("nested deeper than 64 levels"));
  }
  const std::string within = std::string(64, '[') + std::string(64, ']');
  EXPECT_THAT(complaint(within), HasSubstr("the document is a list"));
  std::string twice = good;
  EXPECT_THAT(complaint(twice.insert(twice.find("\"cases\""), "\"cases\": 1, ")),
              HasSubstr("\"cases\" is there twice in one object"));
  KernelNames names;
  EXPECT_THROW(merge_reports({(folder_ / "missing").string()}, {}, names), UsageError);
  EXPECT_THROW(merge_reports({folder_.string()}, {}, names), UsageError);

  const json whole = json::parse(good);
  const std::pair<const char*, json> changes[] = {
      {"/runs", json::array()},
      {"/runs/0/seed", -1},
      {"/runs/0/timing/wall_seconds", "soon"},
      {"/runs/0/tier", "weekly"},
      {"/records/0/witness/tensor", "p"},
      {"/records/0/kernel", "../../etc/passwd"},
      {"/records/0/family", "a b"},
      {"/records/0/format", "f33"},
      {"/records/0/seeds", {{0, 7}}},
      {"/records/0/seeds", {{1, 0}}},
      {"/records/0/seeds_by_class", {{"leak", {{0, 0}}}}},
      {"/records/0/seeds_by_class", {{"silently_wrong", 1}}},
      {"/records/0/seeds_by_class", {{"pass", {{0, 0}}}}},
      {"/records/0/cases", 7},
      {"/records/0/verdict", "passed"},
      {"/records/0/max_ratio", 0.125},
      {"/records/0/rmse", 0},
      {"/records/0/figures/o/state", "es5,"},
      {"/records/0/figures/o/max_abs", "nan"},
      {"/records/0/counts/cases/pass", 9},
      {"/records/0/witness/case", "softmax:other:0"},
      {"/records/0/witness/verdict", "fail(everything)"},
      {"/records/0/witness/replay", "rm -r /"},
      {"/records/0/counts/cases/fail", 0},  // the form is one: what is 0 is left out
      {"/records/0/profile/length/0/0", 3},
      {"/records/0/profile/length/0", {1, 1, 0.5}},
      {"/records/0/heat",
       {{"tensor", "o"}, {"rows", 1}, {"cols", 1}, {"cell_rows", 1}, {"cell_cols", 1}, {"cells", {"?"}}}},
      {"/records/0/surplus", 1},
      {"/records/1", whole["records"][0]},
      {"/faults", {{"partial", 1}}},
      {"/bench", json::array()},
  };
  // All 2^64 seeds are as many as none.
  json every = whole;
  every["records"][0]["cases"] = 0;
  every["records"][0]["seeds"] = {{0, std::numeric_limits<std::uint64_t>::max()}};
  EXPECT_THAT(complaint(every.dump()), HasSubstr("/records/0/seeds is a list, legal is the 0 seeds"));
  for (const auto& [path, value] : changes) {
    json document = whole;
    document[json::json_pointer(path)] = value;
    const std::string said = complaint(document.dump());
    EXPECT_THAT(said, HasSubstr("odd: ")) << path;
    EXPECT_EQ(std::ranges::count(said, '\n'), 0) << said;
  }
  for (const char* key : {"runs", "records", "investigate", "faults", "bench"}) {
    json document = whole;
    document.erase(key);
    EXPECT_THAT(complaint(document.dump()), HasSubstr(std::string("has no \"") + key)) << key;
  }
}

}  // namespace
}  // namespace flashproof
