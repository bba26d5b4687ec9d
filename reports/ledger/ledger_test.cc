// What a ledger takes in, in which place and with which history; what beats it.
#include "reports/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/ledger/against.h"
#include "reports/ledger/ledger_fixture.h"
#include "reports/ledger/tables.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

TEST(Ledger, an_entry_that_moves_gets_a_reason_and_one_that_does_not_gets_none) {
  Ledger ledger;
  ledger.put(term_entry("a", Term::o_output, 0.5), "first");
  ledger.put(term_entry("a", Term::o_output, 0.5 + 1e-10), "not needed");
  ASSERT_EQ(ledger.entries.size(), 1U);
  ASSERT_EQ(ledger.entries[0].history.size(), 1U);
  ledger.put(term_entry("a", Term::o_output, 0.6), "tighter bound");
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

TEST(WholeBound, is_raised_by_what_beats_it_and_by_nothing_else) {
  Ledger ledger;
  EXPECT_TRUE(ledger.raise(whole_entry("b", 0.5), "first"));
  EXPECT_FALSE(ledger.raise(whole_entry("b", 0.5), "again"));
  EXPECT_FALSE(ledger.raise(whole_entry("b", 0.5 * (1 + 1e-12)), "another build"));
  EXPECT_FALSE(ledger.raise(whole_entry("b", 0.4), "less"));
  EXPECT_TRUE(ledger.raise(whole_entry("b", 0.5, "sm_90"), "another architecture"));
  EXPECT_TRUE(ledger.raise(whole_entry("a", 0.1), "another kernel"));
  EXPECT_TRUE(ledger.raise(whole_entry("b", 0.6), "more"));
  ASSERT_EQ(ledger.entries.size(), 3U);
  EXPECT_EQ(ledger.entries[0].kernel, "a");
  const LedgerEntry* b = ledger.find("b", Format::f32, {});
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->best.ratio, 0.6);
  ASSERT_EQ(b->history.size(), 2U);
  EXPECT_EQ(b->history[1].reason, "more");
  EXPECT_EQ(b->sha1.size(), 40U);
  EXPECT_EQ(ledger.find("b", Format::f16, {}), nullptr);
}

TEST(WholeBound, hash_tells_inputs_apart_and_nothing_else) {
  Ledger ledger;
  LedgerEntry other = whole_entry("a", 0.1);
  ledger.raise(whole_entry("a", 0.1), "");
  ledger.raise(whole_entry("b", 0.2), "");
  other.kernel = "c";
  other.case_line = "softmax:normal:4:format=f32";
  ledger.raise(other, "");
  other.kernel = "d";
  other.case_line = "softmax:gone:4";
  ledger.raise(other, "");
  other.kernel = "e";
  other.case_line = "attention_backward:normal:3:format=f32";
  ledger.raise(other, "");
  EXPECT_EQ(ledger.entries[0].sha1, ledger.entries[1].sha1);
  EXPECT_NE(ledger.entries[0].sha1, ledger.entries[2].sha1);
  EXPECT_EQ(ledger.entries[3].sha1, "");
  EXPECT_EQ(ledger.entries[4].sha1.size(), 40U);
}

TEST(WholeBound, against_says_what_is_known_and_beaten) {
  Ledger ledger;
  ledger.raise(whole_entry("a", 0.5), "");
  ledger.raise(whole_entry("b", 0.5), "");
  const std::vector<LedgerEntry> run = {whole_entry("a", 0.25), whole_entry("b", 0.75), whole_entry("c", 1)};
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

TEST(WholeBound, stands_beside_its_terms) {
  Ledger ledger;
  ledger.put(term_entry("a", Term::o_output, 0.5), "first");
  LedgerEntry whole = of_whole_bound(ledger.entries[0]);
  EXPECT_TRUE(ledger.raise(whole, "first"));
  ledger.put(term_entry("a", Term::o_weights, 0.25), "first");
  ASSERT_EQ(ledger.entries.size(), 3U);
  EXPECT_EQ(ledger.entries[0].term, std::nullopt);
  EXPECT_EQ(ledger.entries[0].best.row, 0);
  EXPECT_EQ(ledger.find("a", Format::f32, {})->best.ratio, 0.5);
  EXPECT_EQ(ledger.find("a", Format::f32, Term::o_weights)->best.ratio, 0.25);
  EXPECT_EQ(ledger.find("a", Format::f32, Term::o_numerator), nullptr);
  whole.best.ratio = 0.5 * (1 + 1e-12);
  ledger.offer(whole);
  EXPECT_EQ(ledger.entries[0].best.ratio, whole.best.ratio);
}

TEST(Ledger, the_table_marks_what_is_loose_and_what_never_dominated) {
  Ledger ledger;
  ledger.put(term_entry("k", Term::o_weights, 0.42), "x");
  ledger.put(term_entry("k", Term::o_numerator, 0.04), "x");
  LedgerEntry small = term_entry("k", Term::o_output, 0.7);
  small.best.share = 0.3;
  ledger.put(small, "x");
  const std::string text = terms_table(ledger);
  EXPECT_THAT(text, HasSubstr("0.42"));
  EXPECT_THAT(text, HasSubstr("0.04 loose"));
  EXPECT_THAT(text, HasSubstr("share 0.30"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0.70")));
}

}  // namespace
}  // namespace flashproof
