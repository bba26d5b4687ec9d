// The real program on a library of kernels that compute nothing: the exit code, and the sentence that says why.
#include "reports/cli/test/cli_fixture.h"

namespace flashproof {
namespace {

class AdversaryPlugin : public Cli {
 protected:
  int check(const std::string& kernel, const std::string& more = "") {
    return run("check '" FLASHPROOF_TEST_PLUGINS "/adversary.so' --kernel '" + kernel +
               "' --verbose --quick --jobs 1 " + more);
  }
};

TEST_F(AdversaryPlugin, a_right_kernel_passes) {
  EXPECT_EQ(check("softmax.right.test"), 0) << out << err;
  EXPECT_THAT(out, HasSubstr("decided softmax.right.test f32:"));
  EXPECT_THAT(out, Not(HasSubstr("UNDECIDED")));
}

/// Beside a limit that is no number no call would be too long.
TEST_F(AdversaryPlugin, a_time_limit_is_a_number) {
  for (const std::string command : {"check", "suggest"}) {
    for (const std::string limit : {"nan", "-nan", "inf", "0", "-1", "1e300", "x"}) {
      EXPECT_EQ(run(command + " '" FLASHPROOF_TEST_PLUGINS "/adversary.so' --seconds=" + limit), 2) << limit << out;
      EXPECT_THAT(err, HasSubstr("--seconds \"" + limit + "\": must be 0.1..3600")) << limit;
    }
  }
}

TEST_F(AdversaryPlugin, a_kernel_that_leaves_out_the_offset_of_a_tensor_fails) {
  EXPECT_EQ(check("softmax.no_offset.test", "--law within_bound"), 1) << out << err;
  EXPECT_THAT(out, HasSubstr("FAIL softmax.no_offset.test f32 within_bound"));
}

TEST_F(AdversaryPlugin, weights_that_leave_their_format_are_a_finding_about_that_field) {
  for (const std::string kernel : {"attention.scale_512.test", "attention.open_512.test"}) {
    EXPECT_EQ(check(kernel, "--law within_bound --law class_matches_semantics"), 1) << out << err;
    EXPECT_THAT(out,
                HasSubstr("FAIL " + kernel + " f32 declaration  \"weights\": {\"format\":\"e4m3fn\",\"scale\":512.0"));
    EXPECT_THAT(out, HasSubstr("input families out of the domain that is declared, where NaN would pass: normal, "));
  }
}

TEST_F(AdversaryPlugin, a_law_alone_is_no_pass_of_a_kernel_that_computes_nothing) {
  for (const std::string law :
       {"rerun_is_bitwise", "batch_invariance_is_bitwise", "call_returns", "outputs_fully_written"}) {
    for (const std::string kernel : {"attention.unknown.test", "attention.zero.test"}) {
      EXPECT_EQ(check(kernel, "--family normal --family equal --law " + law), 4) << out << err;
      EXPECT_THAT(out, HasSubstr("UNDECIDED " + kernel + " f32: "));
      EXPECT_TRUE(kernel != "attention.unknown.test" || out.find(" was not asked, and says fail(") != std::string::npos)
          << out;
    }
  }
  EXPECT_EQ(check("softmax.right.test", "--law layout_invariance"), 0) << out << err;
}

TEST_F(AdversaryPlugin, nan_where_an_open_declaration_leaves_the_domain_is_no_pass) {
  EXPECT_EQ(check("attention.unknown.test"), 1);
  const int code = check("attention.unknown.test", "--family huge");
  EXPECT_TRUE(code == 1 || code == 4) << code << out;
}

TEST_F(AdversaryPlugin, errors_as_large_as_the_values_decide_nothing) {
  const int code = check("attention.zero.test");
  EXPECT_TRUE(code == 1 || code == 4) << code << out;
}

// Both kernels are right where there is nothing but numbers.
constexpr const char* kJudged = "--law within_bound --law class_matches_semantics --family normal";

TEST_F(AdversaryPlugin, cases_of_one_key_are_no_test_of_attention) {
  EXPECT_EQ(check("attention.one_key.test", kJudged), 4) << out << err;
  EXPECT_THAT(out, HasSubstr("UNDECIDED attention.one_key.test f32: "));
  EXPECT_THAT(out, HasSubstr("is what a kernel that computes nothing returns"));
}

TEST_F(AdversaryPlugin, one_column_is_no_test_of_a_softmax) {
  EXPECT_EQ(check("softmax.one_column.test", kJudged), 4) << out << err;
  EXPECT_THAT(out, HasSubstr("UNDECIDED softmax.one_column.test f32: "));
}

TEST_F(AdversaryPlugin, what_is_refused_when_it_is_called_was_not_tested) {
  EXPECT_EQ(check("softmax.refuse_large.test"), 4) << out << err;
  EXPECT_THAT(out, HasSubstr(" were refused when the kernel was called: "));
}

TEST_F(AdversaryPlugin, what_evades_a_test_is_told_by_its_kind) {
  const auto check_evasive = [&](const std::string& kernel, const std::string& more = "") {
    return run("check '" FLASHPROOF_TEST_PLUGINS "/evasive.so' --verbose --kernel 'softmax." + kernel +
               ".evasive' --law within_bound --verbose --quick --jobs 1 " + more);
  };
  EXPECT_EQ(check_evasive("crashes_unaligned"), 1) << out << err;
  EXPECT_THAT(out, HasSubstr("; not where every tensor is aligned to 256 bytes"));
  EXPECT_EQ(check_evasive("says_alignment"), 0) << out << err;
  EXPECT_EQ(check_evasive("refuses_at_random"), 1) << out << err;
  EXPECT_THAT(out, HasSubstr("the kernel refuses what it takes when it is asked again: not this one"));
  EXPECT_EQ(check_evasive("refuses_length"), 4) << out << err;
  EXPECT_THAT(out, HasSubstr("UNDECIDED softmax.refuses_length.evasive f32: the description takes what was not tested: "
                             "row_length (0 of "));
  EXPECT_EQ(check_evasive("ignores_length", "--family normal"), 4) << out << err;
  EXPECT_THAT(out, HasSubstr("the description takes what was not tested: row_length (no case)"));
  EXPECT_EQ(check_evasive("refuses_large"), 0) << out << err;
  EXPECT_THAT(out, HasSubstr("refused softmax.refuses_large.evasive f32: "));
}

TEST_F(AdversaryPlugin, cases_that_only_together_contradict_a_declaration_replay_together) {
  EXPECT_EQ(run("check '" FLASHPROOF_TEST_PLUGINS "/two_minds.so' --verbose --law within_bound --cases 2 --jobs 1"), 1)
      << err;
  const std::string said = "no single one of the declarations that an open one stands for explains every case";
  EXPECT_THAT(out, HasSubstr(said));
  const std::string program = "  replay: ./flashproof ";
  const std::size_t at = out.find(program);
  ASSERT_NE(at, std::string::npos) << out;
  const std::string line = out.substr(at + program.size(), out.find('\n', at) - at - program.size());
  EXPECT_EQ(run(line + " --verbose"), 1) << out << err;
  EXPECT_THAT(out, HasSubstr(said));
  // None of them fails alone.
  std::istringstream words(line);
  std::string word, rest = line.substr(line.find(" --plugin "));
  int cases = 0;
  for (words >> word; words >> word && !word.starts_with("--"); ++cases)
    EXPECT_EQ(run("replay " + word + rest), 0) << out;
  EXPECT_GT(cases, 1);
}

/// Beyond the declared range NaN is right, too, and storage that is left alone or other runs with the same bits say nothing of the numbers.
TEST_F(AdversaryPlugin, a_replay_of_what_is_not_judged_is_no_pass) {
  for (const char* law : {"within_bound", "red_zones_untouched", "rerun_is_bitwise"}) {
    EXPECT_EQ(run("replay softmax:huge:0:format=f32 --plugin '" FLASHPROOF_TEST_PLUGINS
                  "/adversary.so' --kernel softmax.no_offset.test --law " +
                  std::string(law)),
              4)
        << out << err;
    EXPECT_THAT(out, HasSubstr("undecided  no case was judged right or wrong"));
  }
}

TEST_F(AdversaryPlugin, a_replay_line_begins_with_the_launcher_as_it_was_called) {
  const std::string check =
      "check '" FLASHPROOF_TEST_PLUGINS "/adversary.so' --kernel softmax.no_offset.test --law within_bound --quick";
  EXPECT_EQ(run_shell("FLASHPROOF_LAUNCHER='../a b/flashproof' '" FLASHPROOF_CLI "' >stdout 2>stderr " + check), 1)
      << err;
  EXPECT_THAT(out, HasSubstr("'../a b/flashproof' replay "));
  EXPECT_THAT(out, Not(HasSubstr("./flashproof replay")));
}

TEST_F(AdversaryPlugin, a_kernel_that_takes_nothing_is_a_finding) {
  EXPECT_EQ(check("softmax.nothing.test"), 1) << out;
}

}  // namespace
}  // namespace flashproof
