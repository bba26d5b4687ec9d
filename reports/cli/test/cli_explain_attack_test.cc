// explain and attack, as child processes.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"
#include "reports/ledger/text.h"

namespace flashproof {
namespace {

TEST_F(Cli, explain_says_the_bound_in_words) {
  ASSERT_EQ(run("explain softmax.online_two_pass.hardened --case softmax:normal:3:cols=64"), kExitFine) << err;
  for (const char* part : {"exact ", "computed ", "error ", "verdict ", "weights", "numerator", "denominator", "output",
                           "pays for", "domain ", "probable ", "lower it"}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
  EXPECT_EQ(err, "");
  ASSERT_EQ(run("explain softmax.online_two_pass.hardened --case softmax:normal:3:cols=64 --element lse:0"), kExitFine);
  EXPECT_THAT(out, HasSubstr("lse[row 0]"));
}

TEST_F(Cli, explain_takes_a_gradient) {
  const std::string command = "explain attention_backward.two_kernels.hardened --case attention_backward:normal:3";
  ASSERT_EQ(run(command), kExitFine) << err;
  for (const char* part : {"exact ", "computed ", "verdict ", "weights", "denominator", "pays for", "domain ",
                           "the others are not kept", "probable ", "lower it"}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
  ASSERT_EQ(run(command + " --element dv:0,1"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("dv[row 0, column 1]"));
  EXPECT_EQ(run(command + " --element o:0,1"), kExitUsage);
  expect_one_line_complaint();
}

TEST_F(Cli, explain_takes_a_witness) {
  ASSERT_EQ(run("report --quick --kernel merge.pairwise_naive.published --family mask_first_tile --format f32"),
            kExitFine);
  const std::string witness = "out/witnesses/merge.pairwise_naive.published.f32.mask_first_tile.safetensors";
  ASSERT_TRUE(fs::exists(folder / witness));
  EXPECT_EQ(run("explain merge.pairwise_naive.published --case " + witness), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("fail("));
}

TEST_F(Cli, explain_refuses_in_one_line) {
  for (const char* arguments :
       {"explain", "explain merge.pairwise_stable.hardened", "explain --case merge:normal:1",
        "explain merge.pairwise_stable.hardend --case merge:normal:1", "explain 'merge.*' --case merge:normal:1",
        "explain merge.pairwise_stable.hardened --case merge:normal",
        "explain merge.pairwise_stable.hardened --case softmax:normal:1",
        "explain merge.pairwise_stable.hardened --case merge:normal:1 --element o:0",
        "explain merge.pairwise_stable.hardened --case merge:normal:1 --element o:99999,0",
        "explain merge.pairwise_stable.hardened --case merge:normal:1 --exec all",
        "explain merge.pairwise_stable.hardened --case merge:zero_length:1:rows=0"}) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
  }
}

constexpr const char* kSmall =
    "attack --kernel merge.pairwise_stable.hardened --format f32 --ledger ledger.tsv --jobs 1 ";

TEST_F(Cli, attack_goes_on_from_its_ledger_and_writes_it_only_with_a_reason) {
  ASSERT_EQ(run(std::string(kSmall) + "--seconds 0.3"), kExitFine) << out << err;
  EXPECT_FALSE(fs::exists(folder / "ledger.tsv"));
  EXPECT_THAT(err, HasSubstr("was not written"));
  ASSERT_EQ(run(std::string(kSmall) + "--seconds 0.3 --update --reason 'the first one'"), kExitFine) << out << err;
  const std::string first = read_file(folder / "ledger.tsv");
  const Ledger ledger = parse_ledger(first, "ledger.tsv");
  ASSERT_GT(ledger.entries.size(), 1U);
  EXPECT_EQ(ledger.entries[0].history[0].reason, "the first one");
  EXPECT_EQ(ledger.entries[0].term, std::nullopt);  // what the terms raised
  // Nothing moves: the same file.
  ASSERT_EQ(run(std::string(kSmall) + "--seconds 0 --update --reason again --export cases"), kExitFine) << err;
  EXPECT_EQ(read_file(folder / "ledger.tsv"), first);
  EXPECT_THAT(out, HasSubstr("0 evaluations"));
  // Its cases are witnesses.
  const std::string term(name(ledger.entries[1].term.value()));
  EXPECT_EQ(run("explain merge.pairwise_stable.hardened --case cases/merge.pairwise_stable.hardened.f32." + term +
                ".safetensors"),
            kExitFine)
      << err;
}

TEST_F(Cli, attack_reports_a_kernel_that_leaves_its_bound) {
  EXPECT_EQ(run("attack --kernel attention.broken.accumulator_not_rescaled --format f32 --seconds 2 --ledger l.json"),
            kExitFine)
      << err;  // a seeded fault is expected to
  EXPECT_THAT(out, HasSubstr("expected: attention.broken.accumulator_not_rescaled f32: "));
  const std::string witness = "out/attack/attention.broken.accumulator_not_rescaled.f32.safetensors";
  ASSERT_TRUE(fs::exists(folder / witness));
  EXPECT_EQ(run("replay " + witness), kExitFinding) << out;
}

TEST_F(Cli, attack_validate_counts_per_cell) {
  EXPECT_EQ(run("attack --validate 2 --kernel merge.pairwise_stable.hardened --format f32"), kExitFine) << out << err;
  EXPECT_THAT(out, HasSubstr("merge.pairwise_stable.hardened f32"));
  EXPECT_THAT(out, HasSubstr("runs of a kernel in"));
  EXPECT_EQ(run("attack --validate 1 --format f64"), kExitUsage);
}

std::string entry(const std::string& recipe, const std::string& row) {
  return "flashproof.ledger/2\nmerge.pairwise_stable.hardened\tf32\tcpu\to.output\t0.1\t1\t" + row + "\t0\t0x0\t-\t" +
         recipe + "\t-\n";
}

TEST_F(Cli, attack_leaves_out_an_entry_that_its_kernel_does_not_take) {
  for (const char* recipe : {"softmax:normal:1:format=f32", "merge:normal:1:format=f16", "merge:nosuch:1"}) {
    std::ofstream(folder / "ledger.tsv") << entry(recipe, "0");
    const std::string file = read_file(folder / "ledger.tsv");
    const int code = run(std::string(kSmall) + "--seconds 0");
    EXPECT_EQ(code, kExitFine) << recipe << out << err;
    EXPECT_THAT(out, HasSubstr("gone")) << recipe;
    EXPECT_EQ(read_file(folder / "ledger.tsv"), file);
  }
}

TEST_F(Cli, attack_finds_out_before_the_search_what_it_cannot_write) {
  std::ofstream(folder / "file") << "x";
  for (const char* options : {"--update --reason x --ledger file/ledger.tsv", "--export file/cases"}) {
    EXPECT_EQ(run("attack --kernel merge.pairwise_stable.hardened --format f32 --seconds 600 " + std::string(options)),
              kExitInfrastructure);
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr(std::string(options).find("--export") == 0 ? "--export" : "--ledger"));
    EXPECT_EQ(out, "");
  }
}

TEST_F(Cli, attack_refuses_in_one_line) {
  std::ofstream(folder / "bad.json") << "{}";
  std::ofstream(folder / "empty.json") << "";
  std::ofstream(folder / "other.json") << entry("merge:normal:1", "1e300");
  for (const char* arguments : {"--update",
                                "--reason x",
                                "--update --reason ''",
                                "--seconds -1",
                                "--seconds x",
                                "--seconds nan",
                                "--seconds inf",
                                "--ledger .",
                                "--ledger empty.json",
                                "--ledger other.json",
                                "--validate 0",
                                "--validate x",
                                "--validate 1 --update --reason x",
                                "--validate 1 --export d",
                                "--jobs 0",
                                "--kernel nope",
                                "--format f33",
                                "--format f64",
                                "--ledger bad.json",
                                "--seed -1"}) {
    EXPECT_EQ(run(std::string("attack ") + arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
  }
}

}  // namespace
}  // namespace flashproof
