// The real program as a child process: exit codes, stdout is data, stderr is progress and complaints.
#include "kernels/broken/fault.h"
#include "reports/cli/test/cli_fixture.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/problem/witness/samples.h"
#include "reference/system/exit_codes.h"

namespace flashproof {
namespace {

TEST_F(Cli, unknown_names_are_usage_errors_with_the_near_matches) {
  EXPECT_EQ(run("report --kernel merge.pairwise_stable.hardend"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("merge.pairwise_stable.hardened"));
  expect_one_line_complaint();
  EXPECT_EQ(run("report --family nrmal"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("normal"));
  expect_one_line_complaint();
  EXPECT_EQ(run("report --format f33"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("f32"));
  EXPECT_EQ(run("check nothing.*"), kExitUsage);
  EXPECT_EQ(run("list kernel"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("kernels"));
  EXPECT_FALSE(fs::exists(folder / "out"));
}

TEST_F(Cli, wrong_options_are_usage_errors) {
  for (const char* arguments :
       {"", "nonsense", "report --quick --nightly", "report --jobs 0", "report --seed x", "report --exec tpu",
        "truth softmax:normal:1", "replay", "check", "replay softmax:normal:1 --schedule sometimes",
        "replay softmax:normal", "replay softmax:normal:1:colour=red", "replay missing.safetensors"}) {
    const int code = run(arguments);
    EXPECT_TRUE(code == kExitUsage ||
                (std::strcmp(arguments, "replay missing.safetensors") == 0 && code == kExitInfrastructure))
        << arguments << " gave " << code << ": " << err;
    expect_one_line_complaint();
  }
  EXPECT_EQ(run("--help"), kExitFine);
  EXPECT_THAT(out, HasSubstr("report"));
}

TEST_F(Cli, a_seed_is_an_unsigned_64_bit_number_and_nothing_else) {
  for (const char* seed : {"-1", "=-1", "+1", "0x10", "1.5", "1e3", "18446744073709551616", "''", "' 1'"}) {
    EXPECT_EQ(run("report --quick --family normal --seed" + std::string(*seed == '=' ? "" : " ") + seed), kExitUsage)
        << seed;
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr("0..18446744073709551615")) << seed;
  }
  EXPECT_EQ(run("report --quick --kernel softmax.online_two_pass.hardened --family normal --format f32 "
                "--seed 18446744073709551613"),
            kExitFine)
      << err;
  EXPECT_EQ(json::parse(read_file(folder / "out/report.json"))["runs"][0]["seed"], 18446744073709551613U);
}

TEST_F(Cli, wrong_names_are_usage_errors_with_and_without_a_gpu) {
  for (const char* arguments :
       {"report --exec cuda --kernel nope", "report --exec all --family nope", "check nope --exec cuda",
        "twin --kernel nope", "twin --format nope", "replay softmax:normal:1 --exec cuda --kernel nope"}) {
    EXPECT_EQ(run(arguments), kExitUsage) << arguments;
    expect_one_line_complaint();
  }
}

TEST_F(Cli, nothing_to_run_is_not_a_success) {
  EXPECT_EQ(run("report --quick --kernel attention.mma_f16.hardened --format f32"), kExitFinding);
  EXPECT_THAT(err, HasSubstr("no case was executed"));
  EXPECT_EQ(run("check attention.mma_f16.hardened --quick --format f32"), kExitFinding);
  EXPECT_EQ(run("report --quick --format f64"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("there are: f32, f16, bf16"));
}

TEST_F(Cli, an_output_directory_that_cannot_be_written_is_said_before_any_work) {
  std::ofstream(folder / "file") << "x";
  EXPECT_EQ(run("report --quick --out file/below"), kExitInfrastructure);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--out"));
  EXPECT_EQ(run("truth softmax:normal:1 --out file/below.safetensors"), kExitInfrastructure);
}

TEST_F(Cli, lists_are_tables_for_people_and_json_for_programs) {
  ASSERT_EQ(run("list kernels --json"), kExitFine);
  EXPECT_EQ(json::parse(out).size(), kernels().size() - seeded_faults().size());
  for (const char* what : {"families", "laws", "faults"}) {
    ASSERT_EQ(run(std::string("list ") + what + " --json"), kExitFine);
    const json list = json::parse(out);
    ASSERT_FALSE(list.empty());
    ASSERT_EQ(run(std::string("list ") + what), kExitFine);
    EXPECT_EQ(static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')), list.size());
  }
}

TEST_F(Cli, report_writes_json_markdown_and_a_table) {
  ASSERT_EQ(run("report --quick --verbose --kernel 'softmax.*' --family normal --family mask_first_tile --out here"),
            kExitFine)
      << out << err;
  EXPECT_THAT(out, HasSubstr("mask_first_tile"));
  EXPECT_THAT(out, Not(HasSubstr("\033")));
  EXPECT_THAT(out, HasSubstr("\nPASS "));
  EXPECT_THAT(out, HasSubstr("here/report.json, report.html, report.md and junit.xml"));
  EXPECT_THAT(read_file(folder / "here/report.md"), HasSubstr("## Kernel × family"));
  const json report = json::parse(read_file(folder / "here/report.json"));
  EXPECT_EQ(report["schema"], "flashproof.report/6");
  EXPECT_EQ(report["runs"][0]["tier"], "quick");
  EXPECT_FALSE(report["records"].empty());
  for (const json& record : report["records"]) EXPECT_GT(record["cases"], 0);
}

TEST_F(Cli, gradients_are_reported_checked_and_replayed) {
  const std::string some =
      " --quick --kernel 'attention_backward.two_kernels.*' --kernel '*delta_not*' --family normal";
  ASSERT_EQ(run("report --verbose" + some + " --format bf16 --out here"), kExitFine) << out << err;
  EXPECT_THAT(out, HasSubstr("attention_backward.two_kernels.hardened"));
  EXPECT_THAT(out, HasSubstr("rejected by within_bound in 3 of 3"));
  EXPECT_THAT(read_file(folder / "here/report.md"), HasSubstr("| dq "));
  const json report = spelled_out("here/report.json");
  ASSERT_EQ(report["records"].size(), 2U);
  EXPECT_EQ(report["records"][0]["problem"], "attention_backward");
  const std::string witness = "here/witnesses/attention_backward.broken.delta_not_subtracted.bf16.normal.safetensors";
  EXPECT_EQ(run("replay " + witness), kExitFinding);
  EXPECT_THAT(out, HasSubstr("fail(exceeds_bound) attention_backward.broken.delta_not_subtracted"));
  EXPECT_EQ(run("replay attention_backward:normal:1:format=f16"), kExitFine) << out << err;
  EXPECT_THAT(out, HasSubstr("pass attention_backward.atomic_dq.hardened cpu"));
  EXPECT_EQ(run("check '*.delta_not_subtracted' --family normal --format f32"), kExitFinding);
  EXPECT_EQ(run("explain attention_backward.fused.hardened --case attention:normal:1"), kExitUsage);
  EXPECT_THAT(err, HasSubstr("does not take it"));
  EXPECT_EQ(run("replay attention_backward:normal:1:mode=both"), kExitUsage);
}

TEST_F(Cli, a_published_kernel_that_fails_is_no_exit_1_and_its_witness_replays_to_the_same_line) {
  ASSERT_EQ(run("report --quick --kernel softmax.online_two_pass.published --family mask_first_tile --format f32"),
            kExitFine)
      << out << err;
  const fs::path witness = "out/witnesses/softmax.online_two_pass.published.f32.mask_first_tile.safetensors";
  ASSERT_TRUE(fs::exists(folder / witness)) << out;
  EXPECT_THAT(out, HasSubstr("(class_mismatch 1)"));
  const std::string case_line = json::parse(read_file(folder / "out/report.json"))["records"][0]["worst"];

  EXPECT_EQ(run("replay " + witness.string()), kExitFinding) << err;
  const std::string from_witness = out;
  EXPECT_THAT(out, StartsWith("fail("));
  EXPECT_EQ(run("replay " + case_line + " --kernel softmax.online_two_pass.published"), kExitFinding);
  EXPECT_EQ(out, from_witness);
  EXPECT_THAT(out, HasSubstr(case_line));

  EXPECT_EQ(run("replay " + witness.string() + " --kernel softmax.online_two_pass.hardened --schedule random:7"),
            kExitFine)
      << out;
  EXPECT_THAT(out, StartsWith("pass "));
}

TEST_F(Cli, check_shows_causes_or_elements_and_exits_1_on_any_finding) {
  EXPECT_EQ(run("check softmax.online_two_pass.hardened --quick --family normal"), kExitFine) << out;
  EXPECT_THAT(out, Not(HasSubstr("fail(")));
  EXPECT_EQ(run("check softmax.online_two_pass.published --quick --family mask_first_tile --family normal"),
            kExitFinding);
  EXPECT_THAT(out, StartsWith("FAIL"));
  EXPECT_THAT(out, HasSubstr("is -inf ("));
  EXPECT_THAT(out, HasSubstr("./flashproof replay softmax:mask_first_tile:"));
  EXPECT_THAT(out, Not(HasSubstr("denominator")));
  EXPECT_LT(std::count(out.begin(), out.end(), '\n'), 20) << out;
  EXPECT_EQ(run("check softmax.online_two_pass.published --quick --family mask_first_tile --verbose"), kExitFinding);
  EXPECT_THAT(out, HasSubstr("weights"));
  EXPECT_THAT(out, HasSubstr("denominator"));
}

TEST_F(Cli, a_broken_kernel_is_rejected_and_stands_in_its_own_section) {
  EXPECT_EQ(run("report --quick --verbose --kernel merge.pairwise_stable.hardened --kernel merge.broken.misprinted_lse "
                "--family normal"),
            kExitFine)
      << out;
  EXPECT_THAT(out, HasSubstr("Seeded faults"));
  EXPECT_THAT(out, HasSubstr(": rejected by within_bound in 3 of 3 cases"));
  EXPECT_THAT(out, Not(HasSubstr("Findings in hardened")));
}

TEST_F(Cli, an_interrupted_report_is_a_valid_partial_one_and_no_success) {
  // Published kernels' failures are no finding of a report, so the code is the interruption's.
  EXPECT_EQ(run_until_stopped("report --nightly --kernel *.published", false), kExitInfrastructure) << err;
  EXPECT_THAT(err, HasSubstr("interrupted"));
  EXPECT_THAT(err, Not(HasSubstr("no case")));
  EXPECT_THAT(out, HasSubstr("PARTIAL"));
  const json report = json::parse(read_file(folder / "out/report.json"));
  EXPECT_EQ(report["runs"][0]["partial"], "interrupted before every case had run.");
  EXPECT_FALSE(report["records"].empty());
  EXPECT_THAT(read_file(folder / "out/report.md"), HasSubstr("**Partial:** interrupted"));
}

TEST_F(Cli, a_signal_to_the_whole_group_makes_no_finding) {
  EXPECT_EQ(run_until_stopped("report --nightly --kernel *.published", true), kExitInfrastructure) << err;
  const json parsed = spelled_out("out/report.json");
  ASSERT_FALSE(parsed["records"].empty());
  for (const json& record : parsed["records"]) EXPECT_FALSE(record["failures"]["cases"].contains("error"));
  EXPECT_THAT(parsed.dump(), Not(HasSubstr("killed by signal")));
}

TEST_F(Cli, an_interrupted_check_says_so) {
  EXPECT_EQ(run_until_stopped("check *.hardened --nightly", true), kExitInfrastructure) << out << err;
  EXPECT_THAT(err, HasSubstr("interrupted"));
  EXPECT_THAT(err, Not(HasSubstr("no case")));
}

TEST_F(Cli, an_interrupted_check_with_a_finding_exits_1) {
  EXPECT_EQ(run_until_stopped("check *.published --nightly --family mask_first_tile", false), kExitFinding) << err;
}

TEST_F(Cli, a_stdout_that_takes_nothing_is_said_and_no_success) {
  for (const char* arguments :
       {"list kernels", "list laws --json", "check softmax.online_two_pass.hardened --quick --family normal",
        "replay softmax:normal:1 --kernel softmax.online_two_pass.hardened",
        "truth softmax:normal:1 --out t.safetensors", "--help", "report --help",
        "report --quick --kernel softmax.online_two_pass.hardened --family normal"}) {
    EXPECT_EQ(run(std::string(arguments) + " >/dev/full"), kExitInfrastructure) << arguments;
    EXPECT_THAT(err, HasSubstr("stdout: cannot be written: No space left on device")) << arguments;
  }
}

TEST_F(Cli, closed_standard_descriptors_end_up_in_no_file) {
  for (const char* closed : {"0>&-", "1>&-", "2>&-", "0>&- 1>&- 2>&-"}) {
    EXPECT_EQ(run(std::string("truth softmax:normal:1 --out t.safetensors ") + closed), kExitFine) << closed;
    const std::string bytes = read_file(folder / "t.safetensors");
    fs::remove(folder / "t.safetensors");
    run("truth softmax:normal:1 --out t.safetensors");
    EXPECT_EQ(bytes, read_file(folder / "t.safetensors")) << closed;
    EXPECT_EQ(run(std::string("report --quick --kernel softmax.online_two_pass.* --family mask_first_tile ") + closed),
              kExitFine)
        << closed;
    EXPECT_NO_THROW(json::parse(read_file(folder / "out/report.json"))) << closed;
  }
}

TEST_F(Cli, an_output_that_is_no_regular_file_is_refused_and_survives) {
  ASSERT_EQ(run_shell("mkfifo pipe && mkdir directory && ln -s /dev/null null"), 0);
  for (const char* name : {"pipe", "directory", "null"}) {
    EXPECT_EQ(run(std::string("truth softmax:normal:1 --out ") + name), kExitUsage);
    EXPECT_THAT(err, HasSubstr(name));
    expect_one_line_complaint();
    EXPECT_EQ(run(std::string("twin --out ") + name), kExitUsage);
    EXPECT_TRUE(fs::exists(folder / name));
    EXPECT_FALSE(fs::is_regular_file(folder / name));
  }
}

/// Every radius of a truth file is below `most` and has no sign, that of 0 neither; its lo part is 0.
void expect_radii(const std::string& bytes, double most) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const json header = json::parse(bytes.substr(8, length));
  std::size_t radii = 0;
  for (const auto& [name, tensor] : header.items()) {
    if (!name.ends_with("_radius")) continue;
    const std::size_t begin = tensor["data_offsets"][0], end = tensor["data_offsets"][1];
    for (std::size_t at = begin; at < end; at += 16, ++radii) {
      double pair[2];
      std::memcpy(pair, bytes.data() + 8 + length + at, sizeof pair);
      ASSERT_FALSE(std::signbit(pair[0])) << name;
      ASSERT_LT(pair[0], most) << name;
      ASSERT_EQ(pair[1], 0) << name;
    }
  }
  EXPECT_GT(radii, 0U);
}

TEST_F(Cli, truth_is_a_safetensors_file_of_f64_pairs) {
  ASSERT_EQ(run("truth attention:normal:3 --out truth.safetensors"), kExitFine) << err;
  const std::string bytes = read_file(folder / "truth.safetensors");
  ASSERT_GT(bytes.size(), 8U);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  ASSERT_LT(length, bytes.size());
  const json header = json::parse(bytes.substr(8, length));
  EXPECT_THAT(header["__metadata__"]["case"].get<std::string>(), StartsWith("attention:normal:3"));
  const json lse_shape = header["lse"]["shape"];
  ASSERT_EQ(lse_shape.size(), 4U);  // (B, Hq, Sq, 2)
  ASSERT_EQ(header["o"]["shape"].size(), 5U);
  for (const char* name : {"o", "o_radius", "lse", "lse_radius"}) {
    EXPECT_EQ(header[name]["dtype"], "F64");
    EXPECT_EQ(header[name]["shape"].back(), 2);
  }
  expect_radii(bytes, 1e-6);
}

json metadata_of(const fs::path& file, json* header = nullptr) {
  const std::string bytes = read_file(file);
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  const json all = json::parse(bytes.substr(8, length));
  if (header != nullptr) *header = all;
  return all["__metadata__"];
}

TEST_F(Cli, truth_of_gradients_and_of_a_witness_whose_line_is_not_its_own) {
  ASSERT_EQ(run("truth attention_backward:normal:4:mode=gradient --out new/folder/truth.safetensors"), kExitFine)
      << err;
  const std::string bytes = read_file(folder / "new/folder/truth.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const json header = json::parse(bytes.substr(8, length));
  for (const char* name : {"dq", "dq_radius", "dk", "dk_radius", "dv", "dv_radius"}) {
    ASSERT_TRUE(header.contains(name)) << name;
    EXPECT_EQ(header[name]["dtype"], "F64");
    EXPECT_EQ(header[name]["shape"].size(), 5U);
  }
  EXPECT_EQ(header["__metadata__"]["case"], "attention_backward:normal:4:mode=gradient");
  EXPECT_EQ(header["__metadata__"]["inconclusive"], "0");
}

// dS = P(dP - D) of a row with one key is an exact 0.
TEST_F(Cli, truth_of_an_exact_zero_has_a_radius_without_a_sign) {
  ASSERT_EQ(run("truth attention_backward:mask_one_survivor:1 --out truth.safetensors"), kExitFine) << err;
  expect_radii(read_file(folder / "truth.safetensors"), 1e-3);
}

TEST_F(Cli, truth_says_how_narrow_it_is_and_which_tiers_that_took) {
  ASSERT_EQ(run("truth attention:normal:3 --out a.safetensors"), kExitFine) << err;
  EXPECT_THAT(out, HasSubstr("to 2^-12 ulp of f32; rows by tier: "));
  EXPECT_THAT(out, HasSubstr("; 0 elements inconclusive\n"));
  json metadata = metadata_of(folder / "a.safetensors");
  EXPECT_EQ(metadata["ulp"], "f32");
  EXPECT_EQ(metadata["inconclusive"], "0");
  ASSERT_EQ(run("truth attention:normal:3 --out b.safetensors --ulp f64 --threads 3 --memory 1"), kExitFine) << err;
  metadata = metadata_of(folder / "b.safetensors");
  EXPECT_EQ(metadata["ulp"], "f64");
  EXPECT_EQ(metadata["rows_fp64"], "0");  // no double is 2^-12 ulp of f64 wide
  // The numbers do not depend on the threads.
  ASSERT_EQ(run("truth attention:normal:3 --out c.safetensors --ulp f64 --threads 1"), kExitFine) << err;
  EXPECT_EQ(read_file(folder / "b.safetensors"), read_file(folder / "c.safetensors"));
  EXPECT_NE(read_file(folder / "b.safetensors"), read_file(folder / "a.safetensors"));
}

TEST_F(Cli, truth_of_packed_sequences_has_the_rows_of_q) {
  write_witness(folder / "packed.safetensors", sample_packed());
  ASSERT_EQ(run("truth packed.safetensors --out t.safetensors"), kExitFine) << err;
  json header;
  metadata_of(folder / "t.safetensors", &header);
  const auto problem = std::get<AttentionProblem>(sample_packed().content.problem);
  const json shape = header["lse"]["shape"];
  EXPECT_EQ(shape, (json{1, problem.q.shape[1], problem.q.shape[2], 2}));
}

TEST_F(Cli, truth_refuses_in_one_line) {
  EXPECT_EQ(run("truth softmax:normal:1 --out t.safetensors --ulp f33"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--ulp \"f33\": must be one of f64, f32, f16, bf16, e4m3fn, e5m2"));
  for (const char* wrong : {"--threads 0", "--threads x", "--memory 0", "--memory -1", "--memory 9999999999"}) {
    EXPECT_EQ(run(std::string("truth softmax:normal:1 --out t.safetensors ") + wrong), kExitUsage) << wrong;
    expect_one_line_complaint();
  }
  EXPECT_FALSE(fs::exists(folder / "t.safetensors"));
  EXPECT_EQ(run("truth softmax:normal:1 --out ''"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--out: empty"));
}

TEST_F(Cli, truth_does_not_overwrite_its_case) {
  write_witness(folder / "case.safetensors", sample_packed());
  EXPECT_EQ(run("truth case.safetensors --out ./case.safetensors"), kExitUsage);
  expect_one_line_complaint();
  EXPECT_THAT(err, HasSubstr("--out: is the case itself"));
  EXPECT_EQ(run("truth case.safetensors --out t.safetensors"), kExitFine);
}

TEST_F(Cli, a_witness_too_large_for_the_oracle_is_refused_before_any_work) {
  Witness large = sample_packed();
  AttentionProblem& problem = std::get<AttentionProblem>(large.content.problem);
  problem = {};
  problem.q = Tensor::strided(Format::bf16, {1, 1, 4000000, 1}, {0, 0, 0, 1});  // 4e8 outputs
  problem.k = Tensor::dense(Format::bf16, {1, 1, 1, 1});
  problem.v = Tensor::dense(Format::bf16, {1, 1, 1, 100});
  problem.plan = ChunkPlan::uniform(1, 1);
  write_witness(folder / "large.safetensors", large);
  for (const char* command : {"replay large.safetensors", "truth large.safetensors --out t.safetensors"}) {
    EXPECT_EQ(run(command), kExitUsage) << command;
    expect_one_line_complaint();
    EXPECT_THAT(err, HasSubstr("q axis 2 = 4000000: the truth would need "));
  }
}

TEST_F(Cli, what_needs_a_gpu_is_skipped_without_one) {
  const int code = run("twin --quick --kernel 'merge.*' --family normal --format f32");
  if (code != kExitSkipped) GTEST_SKIP() << "a GPU is present (twin gave " << code << ")";
  expect_one_line_complaint();
  EXPECT_EQ(run("report --quick --exec cuda"), kExitSkipped);
  EXPECT_EQ(run("report --quick --exec all --kernel merge.pairwise_stable.hardened --family normal --format f32"),
            kExitFine);
  EXPECT_THAT(err, HasSubstr("no GPU"));
}

}  // namespace
}  // namespace flashproof
