// export and ledger, as child processes; the exported scripts themselves are export/export_test.py's.
#include <algorithm>

#include "fuzz/archive/archive.h"
#include "fuzz/input/codec.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"
#include "reports/ledger/text.h"

namespace flashproof {
namespace {

TEST_F(Cli, export_writes_two_files_and_says_the_verdict) {
  ASSERT_EQ(run("export merge:mask_first_tile:0:format=f32 --kernel merge.pairwise_naive.published --out there"),
            kExitFine)
      << err;
  EXPECT_THAT(out, StartsWith("fail(class_mismatch) merge.pairwise_naive.published cpu"));
  EXPECT_TRUE(fs::exists(folder / "there/reproduction.safetensors"));
  EXPECT_THAT(read_file(folder / "there/reproduce.py"), HasSubstr("def kernel(o, lse)"));
  // A second one replaces the first.
  ASSERT_EQ(run("export softmax:normal:1 --out there --python torch"), kExitFine) << err;
  EXPECT_THAT(read_file(folder / "there/reproduce.py"), HasSubstr("import torch"));
}

TEST_F(Cli, an_exported_script_says_what_made_it_as_a_shell_takes_it) {
  ASSERT_EQ(run("report --quick --kernel softmax.online_two_pass.published --family mask_first_tile --format f32"), 0);
  fs::create_directory(folder / "a b");
  fs::rename(folder / "out/witnesses/softmax.online_two_pass.published.f32.mask_first_tile.safetensors",
             folder / "a b/it's.safetensors");
  ASSERT_EQ(run("export \"a b/it's.safetensors\" --out there --schedule random:7"), kExitFine) << err;
  EXPECT_THAT(read_file(folder / "there/reproduce.py"),
              HasSubstr("./flashproof replay 'a b/it'\\''s.safetensors' --kernel softmax.online_two_pass.published "
                        "--schedule random:7"));
}

/// As ./flashproof check ./MY.so leaves it.
void leave_foreign_witness(const fs::path& path) {
  const Case c = make_case(parse_case_spec("softmax:normal:1:rows=2,cols=5,format=f32"));
  write_witness(path, {c, {{"kernel", "softmax.mine.c"}, {"law", "call_returns"}, {"executor", "cuda"}}});
}

TEST_F(Cli, a_witness_of_a_foreign_kernel_is_replayed_with_its_library) {
  leave_foreign_witness(folder / "w.safetensors");
  EXPECT_EQ(run("replay w.safetensors"), kExitUsage);
  EXPECT_THAT(err,
              AllOf(HasSubstr("note kernel \"softmax.mine.c\""), HasSubstr("--plugin LIB"), HasSubstr("--kernel G")));
  EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
  EXPECT_EQ(run("explain softmax.mine.c --case w.safetensors"), kExitUsage);
  EXPECT_THAT(err, AllOf(HasSubstr("KERNEL \"softmax.mine.c\""), HasSubstr("--plugin LIB")));
  // Named, one of ours takes the case; a name that is no note's is unknown as ever.
  EXPECT_EQ(run("replay w.safetensors --kernel softmax.safe.hardened --exec cpu"), kExitFine) << err;
  EXPECT_EQ(run("explain softmax.safe.hardened --case w.safetensors --exec cpu"), kExitFine) << err;
  EXPECT_EQ(run("explain softmax.nobody --case w.safetensors"), kExitUsage);
  EXPECT_THAT(err, Not(HasSubstr("--plugin")));
}

TEST_F(Cli, a_witness_of_a_foreign_kernel_is_exported_without_it) {
  leave_foreign_witness(folder / "w.safetensors");
  ASSERT_EQ(run("export w.safetensors --out there"), kExitFine) << err;
  EXPECT_THAT(out, StartsWith("kernel \"softmax.mine.c\" is none of this build: the truth alone"));
  EXPECT_THAT(read_file(folder / "there/reproduce.py"), HasSubstr("./flashproof replay w.safetensors --plugin LIB"));
  ASSERT_EQ(run("export w.safetensors --out ours --kernel softmax.safe.hardened --exec cpu"), kExitFine) << err;
  EXPECT_THAT(out, StartsWith("pass softmax.safe.hardened cpu"));
  EXPECT_THAT(read_file(folder / "ours/reproduce.py"), Not(HasSubstr("--plugin")));
  EXPECT_EQ(run("export w.safetensors --out ours --kernel softmax.mine.c"), kExitUsage);  // asked for by name: refused
}

TEST_F(Cli, explain_says_where_a_nan_came_from) {
  ASSERT_EQ(run("explain softmax.naive.published --case softmax:overflow_edge:0:format=f32"), kExitFine) << err;
  EXPECT_THAT(out,
              HasSubstr("came from   with the first 1 of 3 it is a number, with one more not: column 1, x = 88.5"));
  ASSERT_EQ(run("explain softmax.naive.published --case softmax:normal:0:format=f32"), kExitFine) << err;
  EXPECT_THAT(out, Not(HasSubstr("came from")));
}

TEST_F(Cli, replay_names_the_command_of_each_failing_kernel_and_refuses_what_no_kernel_takes) {
  EXPECT_EQ(run("replay softmax:overflow_edge:0:format=f32 --kernel 'softmax.naive.*'"), kExitFinding) << err;
  EXPECT_THAT(
      out, HasSubstr("    ./flashproof replay softmax:overflow_edge:0:format=f32 --kernel softmax.naive.published\n"));
  EXPECT_EQ(run("replay attention:sink:1 --kernel attention.online_element.published"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("nothing was tested"));
}

TEST_F(Cli, replay_says_what_is_wrong_with_a_kernel) {
  EXPECT_EQ(run("replay attention:feature_mix:1:format=f32 --kernel attention.broken.causal_top_left"), kExitFinding);
  EXPECT_THAT(out,
              HasSubstr("\n  diagnosis: the causal mask is aligned top left, the declaration says bottom right\n"));
}

constexpr const char* kReport =
    "report --quick --kernel merge.pairwise_stable.hardened --kernel 'attention_backward.*' --family normal --format "
    "f32 ";

TEST_F(Cli, ledger_takes_in_what_a_report_measured_and_the_next_report_does_not_beat_it) {
  ASSERT_EQ(run(kReport), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("\nledger     "));
  EXPECT_THAT(read_file(folder / "out/report.md"), HasSubstr("ledger: "));
  EXPECT_EQ(run("ledger out/report.json --ledger mine.tsv"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("--ledger mine.tsv: must be a regular file that can be read (No such file"));
  EXPECT_EQ(run("report --quick --kernel softmax.safe.hardened --family normal --ledger mine.tsv"), kExitUsage);
  EXPECT_FALSE(fs::exists(folder / "mine.tsv"));
  ASSERT_EQ(run("ledger out/report.json --ledger mine.tsv --update --reason 'the first'"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("merge.pairwise_stable.hardened f32 cpu: new -> "));
  EXPECT_THAT(out, HasSubstr("attention_backward."));
  const std::string first = read_file(folder / "mine.tsv");
  const Ledger ledger = parse_ledger(first, "mine.tsv");
  EXPECT_EQ(ledger.entries.back().kernel, "merge.pairwise_stable.hardened");
  EXPECT_EQ(ledger.entries.back().sha1.size(), 40U);
  ASSERT_EQ(run("ledger out/report.json --ledger mine.tsv --update --reason again"), kExitFine) << err;
  EXPECT_THAT(out, StartsWith("ledger: 0 of"));
  EXPECT_EQ(read_file(folder / "mine.tsv"), first);
  ASSERT_EQ(run(kReport + std::string("--ledger mine.tsv")), kExitFine) << err;
  const json report = spelled_out("out/report.json");
  int known = 0;  // of forward kernels and of gradients; nothing is measured of a kernel that does not take the format
  for (const json& r : report["records"]) {
    EXPECT_EQ(r["ledger"].is_object(), r["verdict"] != "unsupported") << r["kernel"];
    known += static_cast<int>(r["ledger"].is_object());
  }
  EXPECT_EQ(known, 3);
  EXPECT_EQ(run("ledger --ledger mine.tsv"), kExitFine);
  EXPECT_THAT(out, HasSubstr("merge.pairwise_stable.hardened"));
}

/// What fuzz climbed to is taken into the same file as what attack climbed to and a report met.
TEST_F(Cli, ledger_takes_in_what_a_campaign_found) {
  fs::create_directory(folder / "campaign");
  Archive archive(folder / "campaign/archive.sqlite", Archive::Open::create);
  FuzzInput input{.origin = {parse_case_spec("attention_backward:normal:3:mode=stage,sk=5"), {{7, 1, 2}}}};
  Elite elite{.subject = {"backward", "attention_backward.two_kernels.hardened", "f32", "cpu", "det"},
              .term = "dq",
              .ratio = 0.5,
              .input = *encode_input(input)};
  archive.offer(elite);
  elite.term = "dv";  // the worst of a kernel and format counts, and not what left its bound
  elite.ratio = 0.75;
  input.origin.mutations[0].column |= kChangesDOut;
  elite.input = *encode_input(input);
  archive.offer(elite);
  elite.term = "dk";
  elite.ratio = 1.5;
  archive.offer(elite);
  archive.flush();
  ASSERT_EQ(run("ledger campaign --ledger mine.tsv --update --reason 'a night of fuzz'"), kExitFine) << err;
  const Ledger ledger = parse_ledger(read_file(folder / "mine.tsv"), "mine.tsv");
  ASSERT_EQ(ledger.entries.size(), 1U);
  EXPECT_EQ(ledger.entries[0].best.ratio, 0.75);
  EXPECT_EQ(ledger.entries[0].mutations, input.origin.mutations);
  EXPECT_EQ(ledger.entries[0].case_line, "attention_backward:normal:3:format=f32,mode=stage,sk=5");
  EXPECT_EQ(ledger.entries[0].sha1.size(), 40U);
  ASSERT_EQ(run("ledger campaign --ledger mine.tsv"), kExitFine) << err;
  EXPECT_THAT(out, StartsWith("ledger: 0 of 1"));

  elite.subject.executor = "cuda";
  elite.ratio = 0.25;
  archive.offer(elite);
  archive.flush();
  EXPECT_EQ(run("ledger campaign --ledger mine.tsv"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("--architecture"));
  EXPECT_EQ(run("ledger campaign --ledger mine.tsv --architecture sm_90"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("sm_90: new -> 0.25"));
}

TEST_F(Cli, ledger_refuses_in_one_line) {
  std::ofstream(folder / "corrupt") << "flashproof.ledger/2\nsoftmax.safe.hardened\tf32\n";
  std::ofstream(folder / "old.json") << "{\"schema\": \"flashproof.worst/1\", \"entries\": []}";
  std::ofstream(folder / "empty");
  for (const char* arguments :
       {"ledger --ledger corrupt", "ledger --ledger empty", "ledger --ledger /dev/null", "ledger --ledger old.json",
        "ledger old.json", "ledger corrupt", "ledger none", "ledger --update", "ledger corrupt --update", "ledger .",
        "ledger --reason x", "ledger --architecture h200", "ledger --architecture cpu"}) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
  }
  EXPECT_THAT(err, HasSubstr("--architecture"));
  EXPECT_EQ(run("ledger --ledger corrupt"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("corrupt:2: architecture: missing"));
}

}  // namespace
}  // namespace flashproof
