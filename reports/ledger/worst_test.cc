// The ledger of worst ratios: what beats it, what it takes in, what it reads and refuses.
#include "reports/ledger/worst.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/problem/error.h"
#include "reports/attack/ledger.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

Measured measured(const std::string& kernel, double ratio, const std::string& on = "cpu") {
  return {kernel, "f32", on, ratio, "softmax:normal:3:format=f32", ""};
}

TEST(worst, is_raised_by_what_beats_it_and_by_nothing_else) {
  WorstLedger ledger;
  EXPECT_TRUE(ledger.raise(measured("b", 0.5), "first"));
  EXPECT_FALSE(ledger.raise(measured("b", 0.5), "again"));
  EXPECT_FALSE(ledger.raise(measured("b", 0.5 * (1 + 1e-12)), "another build"));
  EXPECT_FALSE(ledger.raise(measured("b", 0.4), "less"));
  EXPECT_TRUE(ledger.raise(measured("b", 0.5, "sm_90"), "another architecture"));
  EXPECT_TRUE(ledger.raise(measured("a", 0.1), "another kernel"));
  EXPECT_TRUE(ledger.raise(measured("b", 0.6), "more"));
  ASSERT_EQ(ledger.entries.size(), 3U);
  EXPECT_EQ(ledger.entries[0].worst.kernel, "a");
  const WorstEntry* b = ledger.find("b", "f32", "cpu");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->worst.ratio, 0.6);
  ASSERT_EQ(b->history.size(), 2U);
  EXPECT_EQ(b->history[1].reason, "more");
  EXPECT_EQ(b->hash.size(), 40U);
  EXPECT_EQ(ledger.find("b", "f16", "cpu"), nullptr);
}

TEST(worst, hash_tells_inputs_apart_and_nothing_else) {
  WorstLedger ledger;
  Measured other = measured("a", 0.1);
  ledger.raise(measured("a", 0.1), "");
  ledger.raise(measured("b", 0.2), "");
  other.kernel = "c";
  other.case_line = "softmax:normal:4:format=f32";
  ledger.raise(other, "");
  other.kernel = "d";
  other.case_line = "softmax:gone:4";
  ledger.raise(other, "");
  other.kernel = "e";
  other.case_line = "attention_backward:normal:3:format=f32";
  ledger.raise(other, "");
  EXPECT_EQ(ledger.entries[0].hash, ledger.entries[1].hash);
  EXPECT_NE(ledger.entries[0].hash, ledger.entries[2].hash);
  EXPECT_EQ(ledger.entries[3].hash, "");
  EXPECT_EQ(ledger.entries[4].hash.size(), 40U);
}

TEST(worst, against_says_what_is_known_and_beaten) {
  WorstLedger ledger;
  ledger.raise(measured("a", 0.5), "");
  ledger.raise(measured("b", 0.5), "");
  const std::vector<Measured> run = {measured("a", 0.25), measured("b", 0.75), measured("c", 1)};
  const auto said = against(run, ledger);
  ASSERT_TRUE(said[0] && said[1]);
  EXPECT_FALSE(said[0]->beaten);
  EXPECT_TRUE(said[1]->beaten);
  EXPECT_EQ(said[1]->ratio, 0.5);
  EXPECT_FALSE(said[2]);
  EXPECT_EQ(against_line(run, ledger),
            "ledger: 1 of 3 kernel x format x architecture beat the worst error/bound known, b f32 on cpu: 0.75 of its "
            "bound, known 0.5; of 1 nothing is known\n");
  EXPECT_EQ(against_line({}, ledger), "");
}

TEST(worst, text_comes_back) {
  WorstLedger ledger;
  ledger.raise(measured("a", 0.5), "first");
  ledger.raise(measured("a", 0.7, "sm_90.native"), "gpu");
  const std::string text = worst_text(ledger);
  EXPECT_EQ(worst_text(parse_worst(text, "x")), text);
}

std::string complaint(const std::string& text) {
  try {
    parse_worst(text, "file");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "none";
}

TEST(worst, corrupt_files_are_refused_by_name) {
  WorstLedger ledger;
  ledger.raise(measured("a", 0.5), "first");
  ledger.raise(measured("b", 0.5), "first");
  const std::string text = worst_text(ledger);
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    if (at == std::string::npos) throw std::logic_error(from);
    return complaint(other.replace(at, from.size(), to));
  };
  EXPECT_EQ(complaint(text), "none");
  for (const auto& [from, to, what] :
       std::vector<std::array<std::string, 3>>{{"worst/1", "worst/2", "schema"},
                                               {"\"kernel\": \"a\"", "\"kernel\": \"c\"", "sorted"},
                                               {"\"kernel\": \"b\"", "\"kernel\": \"a\"", "none twice"},
                                               {"0.5", "-0.5", "ratio"},
                                               {"0.5", "1e999", "file: "},
                                               {"0.5", "\"0.5\"", "ratio"},
                                               {"0.5", "0.4", "history"},
                                               {"f32", "f33", "format"},
                                               {"cpu", "tpu", "architecture"},
                                               {"softmax:normal:3", "softmax:normal", "file: "},
                                               {"\"mutations\": \"\"", "\"mutations\": \"x\"", "file: "},
                                               {"\"history\"", "\"histories\"", "history"},
                                               {"]", "", "file: "}}) {
    EXPECT_THAT(changed(from, to), testing::AllOf(testing::StartsWith("file: "), HasSubstr(what))) << from << to;
  }
  EXPECT_THAT(complaint(""), testing::StartsWith("file: "));
  EXPECT_THAT(complaint("[]"), testing::StartsWith("file: "));
}

TEST(worst, reports_count_what_did_not_fail) {
  const auto record = [](const std::string& kernel, const std::string& verdict, const std::string& ratio,
                         const std::string& executor) {
    const bool ran = verdict != "unsupported", failed = verdict == "fail";
    const std::string counts = failed ? R"({"fail":1})" : R"({"pass":1})";
    const std::string failures = failed ? R"({"exceeds_bound":1})" : "{}";
    return R"({"kernel":")" + kernel + R"(","format":"f32","executor":")" + executor +
           R"(","math":"det","family":"normal","cases":1,"verdict":")" + verdict + R"(","max_ratio":)" + ratio +
           R"(,"counts":{"cases":)" + (ran ? counts : R"({"unsupported":1})") + R"(,"elements":)" +
           (ran ? counts : "{}") + R"(},"failures":{"cases":)" + failures + R"(,"elements":)" + failures +
           R"(},"laws":{},"power":)" + (ran ? R"({"o":{"share":1.0,"decided":1}})" : "{}") + R"(,"figures":)" +
           (ran ? R"({"o":{"elements":1,"max_ratio":)" + ratio + "}}" : "{}") + R"(,"witness":)" +
           (ran ? R"({"case":"softmax:normal:1","verdict":")" + verdict + (failed ? "(exceeds_bound)" : "") + "\"}"
                : "null") +
           "}";
  };
  const std::string head = R"({"schema":"flashproof.report/5","records":[)";
  const auto list =
      measured_of(head + record("a", "pass", "0.5", "cpu") + "," + record("a", "pass", "0.75", "cpu") + "," +
                      record("a", "fail", "5.0", "cpu") + "," + record("b", "fail", "\"inf\"", "cpu") + "," +
                      record("c", "unsupported", "null", "cpu") + "," + record("a", "pass", "0.8", "cuda") + "]}",
                  "r", "sm_90");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].ratio, 0.75);
  EXPECT_EQ(list[1].architecture, "sm_90");
  EXPECT_THROW(measured_of(head + record("a", "pass", "0.8", "cuda") + "]}", "r", ""), UsageError);
  EXPECT_THROW(measured_of(R"({"schema":"else"})", "r", ""), UsageError);
  EXPECT_THROW(measured_of(head, "r", ""), UsageError);
  EXPECT_THROW(measured_of(head + record("a", "pass", "1.5", "cpu") + "]}", "r", ""), UsageError)
      << "beyond its bound, and no failure";
}

TEST(worst, knows_at_least_what_the_attacks_found) {
  const WorstLedger ledger = read_worst(FLASHPROOF_WORST);
  EXPECT_GT(ledger.entries.size(), 100U);
  for (const Measured& m : measured_of(read_ledger_file(FLASHPROOF_LEDGER), "attack", "")) {
    const WorstEntry* known = ledger.find(m.kernel, m.format, m.architecture);
    ASSERT_NE(known, nullptr) << m.kernel << " " << m.format
                              << ": ./flashproof ledger reports/ledger/cpu.json --update";
    EXPECT_FALSE(beats(m.ratio, known->worst.ratio)) << m.kernel << " " << m.format;
  }
}

}  // namespace
}  // namespace flashproof
