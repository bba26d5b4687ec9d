// The text of a ledger: that it comes back, and what is refused. What reports and other ledgers measured.
#include "reports/ledger/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "reference/system/error.h"
#include "reports/ledger/against.h"
#include "reports/ledger/ledger_fixture.h"
#include "reports/record/test/made_report.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

Ledger sample() {
  Ledger ledger;
  ledger.put(term_entry("b", Term::o_output, 0.5), "first");
  ledger.put(term_entry("a", Term::lse_weights, 0.25), "first");
  ledger.put(term_entry("a", Term::lse_weights, 1.0 / 3), "more");
  ledger.raise(whole_entry("a", 0.5), "first");
  ledger.raise(whole_entry("a", 0.7, "sm_90.native"), "gpu");
  return ledger;
}

TEST(LedgerText, comes_back_to_the_last_bit) {
  Ledger ledger = sample();
  for (const double ratio : {0.0, 0x1.fffffffffffffp-1, 5e-324, 1.7976931348623157e308}) {
    ledger.entries[0].best.ratio = ledger.entries[0].history.back().ratio = ratio;
    const std::string text = ledger_text(ledger);
    const Ledger back = parse_ledger(text, "name");
    EXPECT_EQ(back.entries[0].best.ratio, ratio);
    EXPECT_EQ(ledger_text(back), text);
  }
  for (const LedgerEntry& e : ledger.entries) EXPECT_EQ(entry_line(parse_entry_line(entry_line(e))), entry_line(e));
}

TEST(LedgerText, the_committed_file_is_what_the_writer_writes) {
  const std::string text = read_ledger_file(FLASHPROOF_LEDGER);
  EXPECT_TRUE(text == ledger_text(parse_ledger(text, "ledger")));
}

std::string complaint(const std::string& text) {
  try {
    parse_ledger(text, "file");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "none";
}

TEST(LedgerText, malformed_files_are_refused_by_line_and_field) {
  const std::string text = ledger_text(sample());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    const std::size_t at = other.find(from);
    if (at == std::string::npos) throw std::logic_error(from);
    return complaint(other.replace(at, from.size(), to));
  };
  EXPECT_EQ(complaint(text), "none");
  for (const auto& [from, to, what] : std::vector<std::array<std::string, 3>>{
           {"\na\tf32\tcpu\tall", "\nc\tf32\tcpu\tall", "file:6: entries must be sorted"},
           {"\nb\t", "\na\t", "file:8: entries must be sorted"},
           {"lse.weights", "all", "file:6: share: must be -"},
           {"lse.weights", "o.nothing", "file:6: term \"o.nothing\": must be one of"},
           {"\na\t", "\nA\t", "file:5: kernel: \"A\""},
           {"\na\t", "\n\t", "file:5: kernel: "},
           {"all\t0.5", "all\t-0.5", "file:5: ratio: \"-0.5\": must be finite"},
           {"all\t0.5", "all\t-0", "file:5: ratio"},
           {"all\t0.5", "all\t1e999", "file:5: ratio"},
           {"all\t0.5", "all\tnan", "file:5: ratio"},
           {"all\t0.5", "all\t 0.5", "file:5: ratio"},
           {"all\t0.5", "all\t0.4", "file:5: history: must end with the ratio"},
           {"\t0.5\tfirst\n", "\t0.5\n", "file:5: reason: missing"},
           {"\t0.5\tfirst\n", "\n", "file:5: history"},
           {"first", "fi\x1brst", "file:5: reason"},
           {"first", "", "file:5: reason"},
           {"f32", "f33", "file:5: format: \"f33\""},
           {"cpu", "tpu", "file:5: architecture"},
           {"\t1\t2\t0x3f800000", "\t-1\t2\t0x3f800000", "file:6: row"},
           {"\t1\t2\t0x3f800000", "\t1\t2147483648\t0x3f800000", "file:6: column"},
           {"0x3f800000", "3f800000", "file:6: computed"},
           {"0x3f800000", "0x", "file:6: computed"},
           {"0x3f800000", "0x11111111111111111", "file:6: computed"},
           {"0x3f800000\t-", "0x3f800000\tab", "file:6: sha1"},
           {"softmax:normal:3", "softmax:normal", "file:5: case: "},
           {"softmax:normal:7", "attention_backward:normal:7", "file:6: case: "},
           {"3:1:0", "3:1", "file:6: mutations: "},
           {"3:1:0 9:0:5", "", "file:6: mutations: empty"},
           {"ledger/2", "ledger/3", "file:1: version: \"flashproof.ledger/3\": must be flashproof.ledger/2"}}) {
    const std::string said = changed(from, to);
    EXPECT_THAT(said, HasSubstr(what)) << from << " -> " << to;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
  EXPECT_THAT(complaint(text.substr(0, text.size() - 1)), HasSubstr("file:8: the last line"));
  EXPECT_THAT(complaint(text.substr(0, text.find("first") - 5) + "\n"), HasSubstr("file:5: "));
}

TEST(LedgerText, other_versions_are_refused_by_name) {
  EXPECT_THAT(complaint("{\n \"schema\": \"flashproof.worst/1\",\n"),
              HasSubstr("file:1: version: \"flashproof.worst/1\""));
  EXPECT_THAT(complaint("{\"schema\":\"flashproof.ledger/1\"}"),
              HasSubstr("\"flashproof.ledger/1\": must be flashproof.ledger/2"));
  EXPECT_THAT(complaint(""), HasSubstr("file:1: version: \"\""));
  EXPECT_THAT(complaint("\x1b[2J" + std::string(5000, 'x')), HasSubstr("file:1: version: "));
}

TEST(LedgerText, a_file_that_is_not_there_is_an_empty_ledger_only_where_one_may_be_made) {
  const std::string missing = testing::TempDir() + "flashproof-no-such-ledger";
  EXPECT_TRUE(read_ledger(missing, true).entries.empty());
  EXPECT_THROW(read_ledger(missing), UsageError);
}

TEST(Measured, reports_count_what_did_not_fail) {
  Report report = made_report();
  const auto add = [&](const std::string& kernel, const std::string& family, double ratio, bool fails = false) {
    Record& r = report.result.records.emplace_back(made_record(kernel, family));
    r.o.max_ratio = ratio;
    if (fails) {
      fail_seeds(r, Failure::exceeds_bound, {3, 3});
      --r.o.verdicts[static_cast<std::size_t>(VerdictKind::pass)];
      r.o.verdicts[static_cast<std::size_t>(VerdictKind::fail)] = 1;
      --r.o.failures[static_cast<std::size_t>(Failure::none)];
      r.o.failures[static_cast<std::size_t>(Failure::exceeds_bound)] = 1;
    }
    return &r;
  };
  const auto measured = [&](const std::string& gpu) {
    std::ranges::sort(report.result.records, [](const Record& a, const Record& b) { return key_less(a, b); });
    return measured_of(json_text(report, Spelled::out), "r", gpu);
  };
  add("softmax.a.hardened", "normal", 0.5);
  add("softmax.a.hardened", "equal", 0.75);
  add("softmax.a.hardened", "huge", 5, true);
  add("softmax.b.hardened", "normal", INFINITY, true);
  EXPECT_EQ(measured("").size(), 1U);
  add("softmax.a.hardened", "normal", 0.8)->executor = Executor::cuda;
  const auto list = measured("sm_90");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].best.ratio, 0.75);
  EXPECT_EQ(list[0].case_line, "softmax:equal:3:format=f32");
  EXPECT_EQ(list[1].architecture, "sm_90");
  EXPECT_THROW(measured(""), UsageError);
  EXPECT_THROW(measured_of(R"({"schema":"else"})", "r", ""), UsageError);
  EXPECT_THROW(measured_of(json_text(report, Spelled::out).substr(0, 1000), "r", "sm_90"), UsageError);
  add("softmax.c.hardened", "normal", 1.5);
  EXPECT_THROW(measured("sm_90"), UsageError) << "beyond its bound, and no failure";
}

TEST(Measured, another_ledger_counts_its_terms_together) {
  const auto list = measured_of(ledger_text(sample()), "l", "");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].best.ratio, 0.5);
  EXPECT_EQ(list[1].architecture, "sm_90.native");
  EXPECT_EQ(list[2].mutations.size(), 2U);
  for (const LedgerEntry& m : list) EXPECT_EQ(m.term, std::nullopt);
  EXPECT_THROW(measured_of(R"({"schema":"flashproof.ledger/1"})", "l", ""), UsageError);
}

/// attack --update raises the whole bound's entry with its terms'.
TEST(CommittedLedger, knows_of_a_whole_bound_at_least_what_its_terms_show) {
  const Ledger ledger = read_ledger(FLASHPROOF_LEDGER);
  std::size_t whole = 0;
  for (const LedgerEntry& e : ledger.entries) {
    if (!e.term) ++whole;
    const LedgerEntry* known = ledger.find(e.kernel, e.format, {}, e.architecture);
    ASSERT_NE(known, nullptr) << e.kernel << " " << info(e.format).name;
    EXPECT_FALSE(beats(e.best.ratio, known->best.ratio)) << e.kernel << " " << info(e.format).name;
  }
  EXPECT_GT(whole, 100U);
}

}  // namespace
}  // namespace flashproof
