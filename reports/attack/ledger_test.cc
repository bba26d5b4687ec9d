#include "reports/attack/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

using nlohmann::json;
using testing::HasSubstr;

LedgerEntry entry(const char* kernel, Term term, double ratio) {
  LedgerEntry e;
  e.kernel = kernel;
  e.term = term;
  e.best = {ratio, 0.9, 1, 2, 0x3f800000};
  e.origin = {parse_case_spec("softmax:normal:7:cols=512"), {{3, 1, 0}, {9, 0, 5}}};
  return e;
}

TEST(Ledger, json_and_back) {
  Ledger ledger;
  ledger.put(entry("b", Term::o_output, 0.5), "first");
  ledger.put(entry("a", Term::lse_weights, 0.25), "first");
  const std::string text = ledger_text(ledger);
  EXPECT_EQ(ledger.entries[0].kernel, "a");
  EXPECT_EQ(ledger_text(parse_ledger(text, "name")), text);
  EXPECT_EQ(entry_line(parse_entry_line(entry_line(ledger.entries[0]))), entry_line(ledger.entries[0]));
  EXPECT_NE(ledger.find("a", Format::f32, Term::lse_weights), nullptr);
  EXPECT_EQ(ledger.find("a", Format::f16, Term::lse_weights), nullptr);
}

TEST(Ledger, an_entry_that_moves_gets_a_reason_and_one_that_does_not_gets_none) {
  Ledger ledger;
  ledger.put(entry("a", Term::o_output, 0.5), "first");
  ledger.put(entry("a", Term::o_output, 0.5 + 1e-10), "not needed");
  ASSERT_EQ(ledger.entries.size(), 1U);
  ASSERT_EQ(ledger.entries[0].history.size(), 1U);
  ledger.put(entry("a", Term::o_output, 0.6), "tighter bound");
  ASSERT_EQ(ledger.entries[0].history.size(), 2U);
  EXPECT_EQ(ledger.entries[0].history[1].reason, "tighter bound");
  EXPECT_EQ(ledger.entries[0].history[1].ratio, 0.6);
}

TEST(Ledger, replays_means_the_same_bits_and_the_same_ratio) {
  const TermBest a{0.5, 0.9, 1, 2, 77};
  TermBest b = a;
  EXPECT_TRUE(replays(a, b));
  b.ratio += 2e-9;
  EXPECT_FALSE(replays(a, b));
  b = a;
  b.bits ^= 1;
  EXPECT_FALSE(replays(a, b));
  b = a;
  b.column = 3;
  EXPECT_FALSE(replays(a, b));
  b = a;
  b.share = 0.7;  // it does not dominate any more
  EXPECT_FALSE(replays(a, b));
  EXPECT_FALSE(replays(b, a));
  TermBest c = b;
  c.ratio = 0.1;  // neither dominates: the ratio says nothing
  c.share = 0.5;
  EXPECT_TRUE(replays(b, c));
}

TEST(Ledger, malformed_files_are_refused_in_one_line_that_names_them) {
  Ledger ledger;
  ledger.put(entry("a", Term::o_output, 0.5), "first");
  ledger.put(entry("b", Term::o_output, 0.5), "first");
  const json good = json::parse(ledger_text(ledger));
  const auto refused = [&](const std::string& text) {
    try {
      parse_ledger(text, "the file");
      ADD_FAILURE() << text;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), testing::StartsWith("the file: "));
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return std::string(e.what());
    }
    return std::string();
  };
  refused("");
  refused("[]");
  EXPECT_EQ(refused("{\"schema\": " + std::string(5000, '7') + "e999}"),
            "the file: a number is beyond the range of a double");
  EXPECT_EQ(refused("{\n\"schema\": evil\x1b}"), "the file: no JSON at line 2, column 11 (byte 13 of 18)");
  refused("{}");
  const auto with = [&](const char* field, const json& value) {
    json changed = good;
    changed["entries"][0][field] = value;
    return changed.dump();
  };
  EXPECT_NO_THROW(parse_ledger(good.dump(), "the file"));
  refused(with("ratio", -1));
  refused(with("ratio", "0.5"));
  refused(with("ratio", nullptr));
  refused(with("term", "o.nothing"));
  refused(with("format", "f33"));
  refused(with("case", "softmax:normal"));
  refused(with("mutations", "1:2"));
  refused(with("computed", "3f800000"));
  refused(with("computed", "0x"));
  refused(with("computed", "0x11111111111111111"));
  refused(with("row", -1));
  refused(with("history", 3));
  refused(with("kernel", "c"));  // out of order
  refused(with("kernel", "b"));  // twice
  json schema = good;
  schema["schema"] = "flashproof.ledger/2";
  refused(schema.dump());
}

TEST(Ledger, an_entry_of_a_kernel_or_recipe_that_is_gone_is_a_usage_error) {
  EXPECT_THROW(replay(entry("no.such.kernel", Term::o_output, 0.5)), UsageError);
  LedgerEntry refused = entry("merge.pairwise_stable.hardened", Term::o_output, 0.5);
  refused.origin.spec = parse_case_spec("merge:no_such_family:1");
  EXPECT_THROW(replay(refused), UsageError);
}

TEST(Ledger, a_file_that_is_not_there_is_an_empty_ledger_only_where_one_may_be_made) {
  const std::string missing = testing::TempDir() + "flashproof-no-such-ledger.json";
  EXPECT_TRUE(read_ledger(missing, true).entries.empty());
  EXPECT_THROW(read_ledger(missing), UsageError);
}

TEST(Ledger, the_table_marks_what_is_loose_and_what_never_dominated) {
  Ledger ledger;
  ledger.put(entry("k", Term::o_weights, 0.42), "x");
  ledger.put(entry("k", Term::o_numerator, 0.04), "x");
  LedgerEntry small = entry("k", Term::o_output, 0.7);
  small.best.share = 0.3;
  ledger.put(small, "x");
  const std::string text = ledger_table(ledger);
  EXPECT_THAT(text, HasSubstr("0.42"));
  EXPECT_THAT(text, HasSubstr("0.04 loose"));
  EXPECT_THAT(text, HasSubstr("share 0.30"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0.70")));
}

/// The committed ledger, by kernel: every entry replays.
class CommittedLedger : public testing::TestWithParam<std::string> {};

std::vector<std::string> ledger_kernels() {
  std::set<std::string> names;
  for (const LedgerEntry& e : read_ledger(FLASHPROOF_LEDGER).entries) {
    names.insert(e.kernel + " " + std::string(info(e.format).name));
  }
  if (names.empty()) names.insert("nothing");  // so that the test below fails, not vanishes
  return {names.begin(), names.end()};
}

TEST_P(CommittedLedger, replays) {
  int entries = 0;
  for (const LedgerEntry& e : read_ledger(FLASHPROOF_LEDGER).entries) {
    if (e.kernel + " " + std::string(info(e.format).name) != GetParam()) continue;
    ++entries;
    const TermBest now = replay(e);
    EXPECT_TRUE(replays(e.best, now))
        << e.kernel << " " << info(e.format).name << " " << name(e.term) << ": recorded " << e.best.ratio << ", now "
        << now.ratio << ". If that is meant: ./flashproof attack --seconds 0 --update --reason \"...\"";
    ASSERT_FALSE(e.history.empty());
    EXPECT_FALSE(e.history.back().reason.empty());
    if (!e.best.dominates()) continue;
    EXPECT_NEAR(e.history.back().ratio, e.best.ratio, 1e-9);
  }
  EXPECT_GT(entries, 0) << "the ledger is empty";
}

INSTANTIATE_TEST_SUITE_P(Cpu, CommittedLedger, testing::ValuesIn(ledger_kernels()), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '.' || c == ' ' ? '_' : c;
  return name;
});

/// What is attacked must be in the ledger: a new kernel needs an entry. The search's shapes have no pages, so kernels that
/// take nothing else have none; their arithmetic is that of attention.online_chunk.
TEST(CommittedLedger, has_every_kernel_and_format) {
  const Ledger ledger = read_ledger(FLASHPROOF_LEDGER);
  for (const Kernel& kernel : kernels()) {
    if (kernel.form == Form::broken || kernel.id.starts_with("attention.paged.")) continue;
    for (const Format format : kernel.formats) {
      const auto of = [&](const LedgerEntry& e) { return e.kernel == kernel.id && e.format == format; };
      EXPECT_TRUE(std::any_of(ledger.entries.begin(), ledger.entries.end(), of))
          << kernel.id << " " << info(format).name << ": ./flashproof attack --kernel " << kernel.id
          << " --update --reason \"new kernel\"";
    }
  }
}

}  // namespace
}  // namespace flashproof
