// The commands that work on the checkout, test and bench, in a small one of its own with stand-ins for ctest and the benchmarks; and
// the help that the launcher shows before there is a program.
#include "reference/system/exit_codes.h"
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

const fs::path kCheckout = FLASHPROOF_SOURCE;

class Checkout : public Cli {
 protected:
  Checkout() {
    fs::create_directories(build / "reports");
    fs::create_directories(folder / "bin");
    std::error_code error;
    fs::create_hard_link(FLASHPROOF_CLI, program, error);
    if (error) fs::copy_file(FLASHPROOF_CLI, program);
    write(build / "CMakeCache.txt", "CMAKE_HOME_DIRECTORY:INTERNAL=" + tree.string() + "\nFLASHPROOF_SEED:STRING=7\n");
  }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static void script(const fs::path& file, const std::string& text) {
    write(file, "#!/bin/sh\n" + text);
    fs::permissions(file, fs::perms::owner_all);
  }
  int run(const std::string& arguments) {
    return run_shell("PATH='" + (folder / "bin").string() + "':$PATH '" + program.string() + "' >stdout 2>stderr " +
                     arguments);
  }

  const fs::path tree = folder / "a tree", build = tree / "build/cpu", program = build / "reports/flashproof-cli";
};

// ---- help

TEST_F(Checkout, the_launcher_has_the_help_of_the_program) {
  ASSERT_EQ(run("--help"), kExitFine);
  EXPECT_EQ(out, read_file(kCheckout / "reports/launcher/help.txt"))
      << "flashproof-cli --help >reports/launcher/help.txt";
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 60);
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

// The launcher refuses a kernel that no source names (arguments.cmake), before anything is built.
TEST_F(Checkout, every_kernel_stands_in_a_source) {
  std::string sources;
  for (const auto& file : fs::recursive_directory_iterator(kCheckout / "kernels")) {
    if (const fs::path kind = file.path().extension(); kind == ".cu" || kind == ".h") sources += read_file(file.path());
  }
  ASSERT_EQ(run("list kernels --json"), kExitFine) << err;
  const json kernels = json::parse(out);
  EXPECT_GT(kernels.size(), 40U);
  for (const json& kernel : kernels) EXPECT_THAT(sources, HasSubstr(kernel["id"].dump())) << kernel["id"];
}

TEST_F(Checkout, the_document_has_the_table_of_commands) {
  ASSERT_EQ(run("list commands"), kExitFine);
  EXPECT_THAT(read_file(kCheckout / "COMMANDS.md"), HasSubstr(out + "\n")) << "flashproof-cli list commands";
  EXPECT_EQ(run("list commands --json"), kExitUsage);
}

TEST_F(Checkout, every_command_has_its_own_help_and_an_unknown_one_its_neighbours) {
  for (const char* command : {"report", "compare", "test", "bench", "fuzz", "doctor", "setup"}) {
    EXPECT_EQ(run(std::string(command) + " --help"), kExitFine) << command;
    EXPECT_THAT(out, HasSubstr(std::string("flashproof ") + command));
    EXPECT_THAT(out, Not(HasSubstr("]("))) << command;
  }
  EXPECT_EQ(run("replya"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("replay"));
  EXPECT_EQ(run("fuzz softmax --seconds 1"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("./flashproof fuzz"));
}

// ---- test

class CheckoutTest : public Checkout {
 protected:
  CheckoutTest() {
    write(build / "CTestTestfile.cmake", "");
    write(tree / "properties/laws/laws.cmake", "flashproof_law(values/some_law)\n");
    write(tree / "properties/driver/summary.py", read_file(kCheckout / "properties/driver/summary.py"));
  }
  /// ctest, which runs a law of so many passing cases and then exits.
  void ctest(int passed, int code, const std::string& tier = "quick") {
    const std::string counts = (build / "properties-counts" / tier).string();
    const std::string n = std::to_string(passed);
    script(folder / "bin/ctest", "echo \"ctest $*; $(pwd)\"\nmkdir -p '" + counts + "'\ncat >'" + counts +
                                     "/some_law.json' <<'END'\n" +
                                     R"({"seed": 7, "results": [{"law": "some_law", "cases": {"pass": )" + n +
                                     R"(, "fail": 0, "inconclusive": 0, "undecided": 0,
 "out_of_domain": 0, "vacuous": 0, "unsupported": 1}, "families": {"normal": {"pass": )" +
                                     n + R"(}}, "skipped": false}]})" + "\nEND\nexit " + std::to_string(code) + "\n");
  }
};

TEST_F(CheckoutTest, runs_every_test_and_ends_with_the_counts_of_the_laws) {
  ctest(3, 0);
  write(build / "properties-counts/quick/old_law.json", "no JSON");
  EXPECT_EQ(run("test"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("ctest --preset cpu --parallel "));
  EXPECT_THAT(out, HasSubstr("; " + tree.string()));
  EXPECT_THAT(out, HasSubstr("some_law"));
  EXPECT_THAT(out, HasSubstr("seed 7;"));
  EXPECT_THAT(out,
              StartsWith("seed: 7 (random tests repeat with it; change: cmake --preset cpu -DFLASHPROOF_SEED=N)\n"));
  EXPECT_THAT(out, Not(HasSubstr("old_law"))) << "counts of an earlier run are no counts of this one";
}

TEST_F(CheckoutTest, nightly_has_a_preset_and_counts_of_its_own) {
  ctest(3, 0, "nightly");
  EXPECT_EQ(run("test --nightly"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("ctest --preset cpu-nightly "));
}

TEST_F(CheckoutTest, a_failed_test_or_an_idle_law_is_a_finding_and_a_ctest_that_does_not_run_is_none) {
  ctest(3, 8);
  EXPECT_EQ(run("test"), kExitFinding);
  EXPECT_THAT(out, HasSubstr("some_law"));
  ctest(0, 0);
  EXPECT_EQ(run("test"), kExitFinding);
  EXPECT_THAT(err, HasSubstr("no case executed by some_law"));
  ctest(3, 1);
  EXPECT_EQ(run("test"), kExitInfrastructure);
  EXPECT_THAT(err, HasSubstr("ctest could not run (exit 1)"));
}

TEST_F(CheckoutTest, says_what_to_build_for_right_arguments_only) {
  EXPECT_EQ(run("test --check"), kExitFine);
  EXPECT_EQ(out, "all\n");
  for (const char* wrong : {"test --frobnicate", "test --check --exec cuda", "test x"}) {
    EXPECT_EQ(run(wrong), kExitUsage) << wrong;
    expect_one_line_complaint();
  }
  fs::remove(build / "CTestTestfile.cmake");
  EXPECT_EQ(run("test"), kExitInfrastructure);
  expect_one_line_complaint();
}

// ---- bench

class CheckoutBench : public Checkout {
 protected:
  CheckoutBench() {
    write(build / "benchmarks/names.txt", "one_benchmark\ntwo_benchmark\n\n");
    write(build / "benchmarks/flags.txt", "compiler: some\nflags: -O3\n");
    for (const std::string name : {"one", "two"}) benchmark(name);
  }
  /// As a Google Benchmark program with one benchmark behaves.
  void benchmark(const std::string& name) const {
    script(build / ("benchmarks/" + name + "_benchmark"), "name=" + name + R"(
filter=. out=
for a; do
  case $a in
    --benchmark_filter=*) filter=${a#*=} ;;
    --benchmark_list_tests=true) ;;
    --benchmark_out=*) out=${a#*=} ;;
    --benchmark_out_format=json | --benchmark_repetitions=*) ;;
    *) echo "error: unrecognized command-line flag: $a" >&2 && exit 1 ;;
  esac
done
if ! echo ${name}_case/7 | grep -q "$filter"; then echo "Failed to match any benchmarks against regex: $filter" >&2 && exit 0; fi
echo ${name}_case/7
if [ -n "$out" ]; then
  echo '{"context": {"date": "now", "executable": "x", "num_cpus": 2, "caches": []}, "benchmarks": ['\
'{"name": "'${name}_case/7'", "run_name": "'${name}_case/7'", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, '\
'"iterations": 9, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "us"}]}' >"$out"
fi
)");
  }
};

TEST_F(CheckoutBench, runs_every_program_that_the_filter_fits) {
  EXPECT_EQ(run("bench"), kExitFine) << err;
  EXPECT_EQ(out, "compiler: some\nflags: -O3\none_case/7\ntwo_case/7\n");
  EXPECT_EQ(run("bench --benchmark_filter=one"), kExitFine) << err;
  EXPECT_THAT(out + err, Not(HasSubstr("two")));
  EXPECT_EQ(run("bench --exec cpu --benchmark_filter=zzz"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("no benchmark has a name that --benchmark_filter fits"));
  expect_one_line_complaint();
  EXPECT_EQ(run("bench --benchmark_frobnicate=1"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("frobnicate"));
}

TEST_F(CheckoutBench, writes_one_file_each_name_with_its_program) {
  ASSERT_EQ(run("bench --out all.json"), kExitFine) << err;
  const json all = json::parse(read_file(folder / "all.json"));
  ASSERT_EQ(all["benchmarks"].size(), 2U);
  EXPECT_EQ(all["benchmarks"][0]["run_name"], "one_benchmark/one_case/7");
  EXPECT_EQ(all["benchmarks"][1]["name"], "two_benchmark/two_case/7");
  EXPECT_EQ(all["context"]["programs"], json({"one_benchmark", "two_benchmark"}));
  EXPECT_EQ(all["context"]["flags"], "-O3");
  EXPECT_EQ(all["context"]["executable"], "flashproof bench");

  EXPECT_EQ(run("bench --compare all.json all.json"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("one_benchmark/one_case/7"));
  fs::remove(build / "benchmarks/two_benchmark");  // what the filter leaves out is asked, too
  EXPECT_EQ(run("bench --compare all.json --benchmark_filter=one"), kExitInfrastructure);
  benchmark("two");
  EXPECT_EQ(run("bench --compare all.json --benchmark_filter=one"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("one_benchmark/one_case/7"));
  EXPECT_TRUE(fs::exists(build / "bench.json")) << "one file is compared with a run now";
}

TEST_F(CheckoutBench, a_benchmark_that_fails_leaves_no_file) {
  script(build / "benchmarks/two_benchmark", "case \"$*\" in *list_tests*) echo a ;; *) exit 5 ;; esac");
  EXPECT_EQ(run("bench --out all.json"), kExitInfrastructure);
  EXPECT_THAT(err, HasSubstr("two_benchmark failed (exit 5)"));
  EXPECT_FALSE(fs::exists(folder / "all.json"));
}

TEST_F(CheckoutBench, says_what_to_build_for_right_arguments_only) {
  write(folder / "a.json", "{}");
  for (const auto& [arguments, target] : std::vector<std::pair<std::string, std::string>>{
           {"", "benchmarks\n"}, {" --exec cuda", "gpu_benchmark\n"}, {" --compare a.json a.json", ""}}) {
    EXPECT_EQ(run("bench --check" + arguments), kExitFine) << err;
    EXPECT_EQ(out, target) << arguments;
  }
  for (const char* wrong : {"--out", "--compare", "--compare none.json", "--out .", "--out /none/x.json", "--out ''",
                            "--benchmark_out=x", "--benchmark_format=json", "--benchmark_list_tests=true", "frob", "-x",
                            "--exec all", "--compare a.json a.json --out x",
                            "--compare a.json a.json --benchmark_filter=x", "--compare a.json a.json a.json"}) {
    EXPECT_EQ(run(std::string("bench --check ") + wrong), kExitUsage) << wrong;
    expect_one_line_complaint();
  }
  fs::remove_all(build / "benchmarks");
  EXPECT_EQ(run("bench"), kExitInfrastructure);
  expect_one_line_complaint();
}

TEST_F(Cli, outside_its_checkout_what_works_on_it_says_so) {
  fs::copy_file(FLASHPROOF_CLI, folder / "carried-away");
  for (const char* command : {"test", "bench"}) {
    EXPECT_EQ(run_shell(std::string("./carried-away >stdout 2>stderr ") + command), kExitUsage);
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr("needs the checkout"));
  }
}

}  // namespace
}  // namespace flashproof
