// compare through the real program: forms, files, exit codes.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

class Compare : public Cli {
 protected:
  void report(const std::string& out_folder, const std::string& more = "") {
    ASSERT_EQ(run("report --quick --kernel 'softmax.online_*.hardened' --family normal --format f32 --out " +
                  out_folder + " " + more),
              kExitFine)
        << err;
  }
  void write(const std::string& file, const std::string& text) { std::ofstream(folder / file) << text; }
};

TEST_F(Compare, a_report_against_itself_and_against_one_that_was_changed) {
  report("a");
  report("b", "--jobs 2");
  ASSERT_EQ(run("compare --verbose a/report.json b/report.json"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("records (kernel x format x executor x math x family): no change\n"));

  json changed = spelled_out("b/report.json");
  json& record = changed["records"][0];
  record["counts"]["cases"]["pass"] = 2;
  record["counts"]["cases"]["fail"] = 1;
  record["failures"]["cases"]["silently_wrong"] = 1;
  record["verdict"] = "fail";
  record["witness"]["verdict"] = "fail(silently_wrong)";
  const json seed = record["seeds"][0][0];
  record["seeds_by_class"]["silently_wrong"] = {{seed, seed}};
  write("c.json", changed.dump());
  write("policy.toml", "[[rule]]\nname = \"hardened\"\nno_class_worse = true\n");
  ASSERT_EQ(run("compare --verbose a/report.json c.json"), kExitFine) << "without a gate it only tells";
  EXPECT_THAT(out, HasSubstr("CLASS CHANGES"));
  EXPECT_THAT(out, HasSubstr("pass -> silently_wrong, 1 of 3 cases"));
  EXPECT_EQ(run("compare --verbose a/report.json c.json --gate policy.toml --markdown m.md --json j.json"),
            kExitFinding);
  EXPECT_THAT(out, HasSubstr("GATE FAILS"));
  EXPECT_THAT(read_file(folder / "m.md"), HasSubstr("## Gate: **fails**"));
  const std::string id = json::parse(read_file(folder / "j.json"))["gate"]["reasons"][0]["id"];
  write("waivers.toml", "[[waiver]]\nid = \"" + id + "\"\nreason = \"known\"\nexpires = 2026-11-22\n");
  const std::string waived =
      "compare --verbose a/report.json c.json --gate policy.toml --waivers waivers.toml --today ";
  EXPECT_EQ(run(waived + "2026-11-22"), kExitFine);
  EXPECT_THAT(out, HasSubstr("waived until 2026-11-22: " + id + " (known)"));
  EXPECT_EQ(run(waived + "2026-11-23"), kExitFinding);
  EXPECT_THAT(out, HasSubstr("expired on 2026-11-22 (today 2026-11-23)"));
  EXPECT_EQ(
      run("compare --verbose a/report.json b/report.json --gate policy.toml --waivers waivers.toml --today 2026-11-22"),
      kExitFine);
  EXPECT_THAT(out, HasSubstr("matches no reason"));
}

TEST_F(Compare, reports_of_other_seeds_claim_nothing_and_a_gate_refuses_them) {
  report("a");
  report("b", "--seed 50");
  ASSERT_EQ(run("compare --verbose a/report.json b/report.json"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("DIFFERENT CASES"));
  EXPECT_THAT(out, Not(HasSubstr("ERROR CHANGES")));
  write("policy.toml", "[[rule]]\nname = \"r\"\nmax_ratio = 1\n");
  EXPECT_EQ(run("compare --verbose a/report.json b/report.json --gate policy.toml"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("ran other cases"));
}

TEST_F(Compare, two_kernels_and_one_of_their_cases) {
  ASSERT_EQ(run("compare --verbose softmax.online_block.hardened softmax.naive.published --quick --family sum_overflow "
                "--format "
                "f32 --json j.json"),
            kExitFine)
      << err;
  EXPECT_THAT(out, HasSubstr("PAIRED, 3 cases, each run by both"));
  EXPECT_THAT(out, HasSubstr("CLASS CHANGES"));
  const std::size_t at = out.find("./flashproof compare softmax.online_block.hardened softmax.naive.published --case ");
  ASSERT_NE(at, std::string::npos) << out;
  const std::string line = out.substr(at + 13, out.find('\n', at) - at - 13);
  EXPECT_EQ(run(line), kExitFine) << line;
  EXPECT_THAT(out, HasSubstr("softmax.naive.published: worse, most in f32 sum_overflow: pass"));
  EXPECT_LE(std::ranges::count(out, '\n'), 60) << "without --verbose the block alone";
  EXPECT_EQ(json::parse(read_file(folder / "j.json"))["paired"]["cases"].size(), 3U);
  EXPECT_EQ(run("compare --verbose softmax.online_block.hardened softmax.online_block.hardened --quick --family normal "
                "--format "
                "f32 --measure 4"),
            kExitFine);
  EXPECT_THAT(out, HasSubstr("no verdict: 4 rounds, this many comparisons need 8"));
}

TEST_F(Compare, wrong_arguments_are_one_line_and_exit_2) {
  report("a");
  write("old.json", R"({"schema": "flashproof.report/4", "records": []})");
  write("empty.json", "");
  ASSERT_EQ(run_shell("mkfifo pipe && ln -s /dev/zero zero && truncate -s 8T sparse"), 0);
  const std::string whole = read_file(folder / "a/report.json");
  write("half.json", whole.substr(0, whole.size() / 2));
  write("bad.toml", "[[rule]]\nname = \"r\"\nmax_rato = 1\n");
  write("good.toml", "[[rule]]\nname = \"r\"\nmax_ratio = 1\n");
  const std::string two = "compare a/report.json a/report.json ";
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"compare", "BASE and HEAD"},
           {"compare a/report.json", "BASE and HEAD"},
           {"compare a/report.json old.json", "legal is \"flashproof.report/6\""},
           {"compare a/report.json none.json", "must be a regular file"},
           {"compare a/report.json empty.json", "truncated"},
           {"compare a/report.json half.json", "truncated"},
           {"compare a/report.json softmax.naive.hardened", "must be a report.json, as the other side"},
           {"compare a/report.json nowhere", "no report.json, no kernel's id, and no git revision"},
           {"compare softmax.naive.hardened softmax.naive.hardened --kernel x", "--kernel: of two revisions"},
           {"compare softmax.naive.hardened softmax.nave.hardened", "near: softmax.naive.hardened"},
           {two + "--seed 3", "--seed: two reports have run already"},
           {two + "--waivers good.toml", "--waivers: only with --gate"},
           {two + "--gate ''", "--gate: empty"},
           {two + "--gate bad.toml", "bad.toml:3: rule.max_rato: unknown key"},
           {two + "--gate good.toml --today 2026-02-30", "--today \"2026-02-30\": must be a day"},
           {two + "--gate pipe", "must be a regular file"},
           {two + "--gate good.toml --waivers zero", "must be a regular file"},
           {two + "--gate sparse", "8796093022208 bytes, must be at most 1048576"},
           {two + "--bench a/report.json a/report.json", "no JSON of Google Benchmark"},
           {two + "--bench a/report.json", "--bench"},
           {"compare softmax.naive.hardened softmax.naive.hardened --measure 1", "--measure"},
           {"compare softmax.naive.hardened softmax.naive.hardened --case softmax:normal:1 --quick", "--case"},
           {"compare softmax.naive.hardened softmax.naive.hardened --math fast", "native"}}) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr(words)) << arguments;
  }
  EXPECT_EQ(run(two + "--markdown a/report.json/below/m.md"), kExitInfrastructure);  // a missing folder would be made
  expect_one_line_complaint();
}

}  // namespace
}  // namespace flashproof
