// What `report` and `merge` write, through the program: the same bytes however it was run.
#include "reports/cli/test/cli_fixture.h"

#include "reference/system/exit_codes.h"

namespace flashproof {
namespace {

const std::string kSome =
    " --quick --family normal --family mask_first_tile --format f32 --kernel 'softmax.online_two_pass.*' "
    "--kernel merge.nway.hardened --kernel attention_backward.two_kernels.hardened ";

json without_time(const fs::path& path) {
  json report = json::parse(read_file(path));
  for (json& run : report["runs"]) {
    run.erase("date");
    run.erase("timing");
  }
  return report;
}

TEST_F(Cli, two_reports_of_one_seed_differ_in_date_and_timing_alone) {
  for (const char* jobs : {"1", "2"}) {
    ASSERT_EQ(run("report" + kSome + "--out " + jobs + " --jobs " + jobs), kExitFine) << err;
  }
  const json one = without_time(folder / "1/report.json"), two = without_time(folder / "2/report.json");
  EXPECT_EQ(one.dump(), two.dump());
  EXPECT_EQ(read_file(folder / "1/junit.xml"), read_file(folder / "2/junit.xml"));
  EXPECT_THAT(one["runs"][0]["command_line"].get<std::string>(), Not(HasSubstr("--jobs")));
  // Where its witnesses lie is said relative to the report, and what replays them does not depend on it.
  const json full = spelled_out("1/report.json");
  const auto failing = std::ranges::find_if(full["records"], [](const json& r) { return r["verdict"] == "fail"; });
  ASSERT_NE(failing, full["records"].end());
  EXPECT_TRUE(fs::exists(folder / "2" / (*failing)["witness"]["file"].get<std::string>()));
  EXPECT_EQ(run((*failing)["witness"]["replay"].get<std::string>().substr(std::string("./flashproof ").size())),
            kExitFinding);
  // The files themselves, once the line with date and timing is gone.
  ASSERT_EQ(run_shell("for j in 1 2; do grep -v '^{\"compiler\"' $j/report.json >$j/lines; done; cmp 1/lines 2/lines "
                      ">stdout 2>stderr"),
            0)
      << out;
}

TEST_F(Cli, merge_makes_the_same_files_of_its_reports_in_any_order) {
  for (const char* seed : {"0", "3", "6"}) {
    ASSERT_EQ(run("report" + kSome + "--seed " + seed + " --out " + seed), kExitFine) << err;
  }
  ASSERT_EQ(run("merge --verbose 0/report.json 3/report.json 6/report.json --out a"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("FAIL class"));
  EXPECT_THAT(out, HasSubstr("a/report.json, report.html, report.md and junit.xml"));
  const std::string table = out.substr(0, out.find("\nwritten "));
  ASSERT_EQ(run("merge --verbose 6/report.json 0/report.json 3/report.json --out b"), kExitFine) << err;
  EXPECT_EQ(out.substr(0, out.find("\nwritten ")), table);
  for (const char* file : {"report.json", "report.md", "junit.xml"}) {
    EXPECT_EQ(read_file(folder / "a" / file), read_file(folder / "b" / file)) << file;
  }
  const json merged = spelled_out("a/report.json");
  EXPECT_EQ(merged["runs"].size(), 3U);
  EXPECT_EQ(merged["records"][0]["cases"], 9);
  EXPECT_EQ(merged["records"][0]["seeds"], json({{0, 8}}));

  EXPECT_EQ(run("merge 0/report.json 0/report.json --out c"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_EQ(run("merge a/report.json 3/report.json --out c"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("3/report.json: "));
  EXPECT_EQ(run("merge"), kExitUsage);
  EXPECT_EQ(run("merge missing.json"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("missing.json"));
  EXPECT_FALSE(fs::exists(folder / "c"));
}

TEST_F(Cli, what_is_put_into_a_report_is_checked_before_any_work) {
  std::ofstream(folder / "odd.json") << "{\"faults\": 3}";
  for (const char* option : {"--with-faults", "--with-bench"}) {
    EXPECT_EQ(run("report --nightly " + std::string(option) + " odd.json"), kExitUsage);
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr("odd.json: the document has no \""));
    EXPECT_EQ(run("report --nightly " + std::string(option) + " none.json"), kExitUsage);
  }
  // Deep enough to end a process that follows it by recursion.
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const char* command : {"report --quick --with-bench odd.json", "report --quick --with-faults odd.json",
                              "merge odd.json odd.json", "compare odd.json odd.json", "render odd.json"}) {
    std::ofstream(folder / "odd.json") << R"({"schema": "flashproof.report/6", "benchmarks": )" + deep + "}";
    EXPECT_EQ(run(command), kExitUsage) << command;
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr("odd.json: nested deeper than 64 levels"));
  }
  EXPECT_EQ(run("report --faults --with-bench odd.json"), kExitUsage);
}

/// Each of the four believed the verdict that stands in the file.
TEST_F(Cli, a_record_that_contradicts_itself_is_refused_by_every_reader) {
  ASSERT_EQ(run("report --quick --kernel softmax.naive.published --family huge --format f32 --out a"), kExitFine)
      << err;
  json report = spelled_out("a/report.json");
  ASSERT_EQ(report["records"][0]["verdict"], "fail");
  report["records"][0]["verdict"] = "pass";
  std::ofstream(folder / "forged.json") << report.dump();
  for (const char* command :
       {"render forged.json", "merge forged.json --out b", "compare a/report.json forged.json", "ledger forged.json"}) {
    EXPECT_EQ(run(command), kExitUsage) << command;
    expect_one_line_complaint();
    EXPECT_THAT(err,
                HasSubstr("forged.json: /records/0: softmax.naive.published f32 cpu det huge: verdict is pass, its "
                          "statistics give fail"))
        << command;
  }
}

/// Scores so nearly equal that a bound on fused exponents accepts 0: nothing is wrong, and nothing was decided.
TEST_F(Cli, a_run_that_decides_too_little_is_no_pass) {
  for (const char* command : {"report --out r --kernel attention.fused.hardened", "check attention.fused.hardened"}) {
    EXPECT_EQ(run(std::string(command) + " --family near_ties --format f32"), kExitSkipped);
    EXPECT_THAT(out, StartsWith("UNDECIDED"));
    EXPECT_THAT(out, HasSubstr("undecided  attention.fused.hardened f32 cpu: "));
    EXPECT_THAT(out, HasSubstr("of o was decided: "));
  }
  const json record = spelled_out("r/report.json")["records"][0];
  EXPECT_EQ(record["verdict"], "undecided");
  EXPECT_LT(record["power"]["o"]["share"], 0.5);
}

TEST_F(Cli, a_seed_too_close_to_the_last_is_refused) {
  EXPECT_EQ(run("report --quick --family normal --seed 18446744073709551614"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("0..18446744073709551613"));
}

}  // namespace
}  // namespace flashproof
