// The committed ledger: every entry of a term replays, and there is one of everything that is attacked.
#include "reports/attack/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reference/system/error.h"
#include "reports/ledger/ledger_fixture.h"
#include "reports/ledger/text.h"

namespace flashproof {
namespace {

TEST(Replay, an_entry_of_a_kernel_or_recipe_that_is_gone_is_a_usage_error) {
  EXPECT_THROW(replay(term_entry("no.such.kernel", Term::o_output, 0.5)), UsageError);
  LedgerEntry refused = term_entry("merge.pairwise_stable.hardened", Term::o_output, 0.5);
  refused.case_line = "merge:no_such_family:1";
  EXPECT_THROW(replay(refused), UsageError);
  EXPECT_THROW(replay(whole_entry("softmax.safe.hardened", 0.5)), UsageError);
}

/// The committed ledger, by kernel: every entry replays.
class CommittedLedger : public testing::TestWithParam<std::string> {};

std::vector<std::string> ledger_kernels() {
  std::set<std::string> names;
  for (const LedgerEntry& e : read_ledger(FLASHPROOF_LEDGER).entries) {
    if (e.term) names.insert(e.kernel + " " + std::string(info(e.format).name));
  }
  if (names.empty()) names.insert("nothing");  // so that the test below fails, not vanishes
  return {names.begin(), names.end()};
}

TEST_P(CommittedLedger, replays) {
  int entries = 0;
  for (const LedgerEntry& e : read_ledger(FLASHPROOF_LEDGER).entries) {
    if (!e.term || e.kernel + " " + std::string(info(e.format).name) != GetParam()) continue;
    ++entries;
    const TermBest now = replay(e);
    EXPECT_TRUE(replays(e.best, now))
        << e.kernel << " " << info(e.format).name << " " << name(*e.term) << ": recorded " << e.best.ratio << ", now "
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
    if (kernel.form == Form::broken) continue;
    if (kernel.id.starts_with("attention.paged.")) continue;
    for (const Format format : kernel.formats) {
      const auto of = [&](const LedgerEntry& e) { return e.term && e.kernel == kernel.id && e.format == format; };
      EXPECT_TRUE(std::any_of(ledger.entries.begin(), ledger.entries.end(), of))
          << kernel.id << " " << info(format).name << ": ./flashproof attack --kernel " << kernel.id
          << " --update --reason \"new kernel\"";
    }
  }
}

}  // namespace
}  // namespace flashproof
