// The driver on kernels of the registry: what it prints, writes and returns.
#include "properties/driver/property_main.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/run/run.h"
#include "properties/driver/property_run.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/problem/case.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/option_table.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const KernelDeclaration& declaration(std::string_view id) { return *find_kernel(id); }

class PropertyMain : public testing::Test {
 protected:
  int run(std::vector<std::string> arguments, std::vector<KernelDeclaration> kernels) {
    arguments.insert(arguments.begin(), "my tests");
    std::vector<char*> argv;
    argv.reserve(arguments.size());
    for (std::string& argument : arguments) argv.push_back(argument.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = property_main(static_cast<int>(argv.size()), argv.data(), kernels);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return code;
  }
  /// Expects exit 2, nothing on stdout and one line on stderr that holds this.
  void refuses(const std::vector<std::string>& arguments, const std::string& text) {
    EXPECT_EQ(run(arguments, {right}), 2) << text;
    EXPECT_EQ(out, "");
    EXPECT_THAT(err, HasSubstr(text));
    EXPECT_EQ(err.find('\n'), err.size() - 1);
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  std::string out, err;
  KernelDeclaration right = declaration("softmax.safe.hardened");
  KernelDeclaration wrong = declaration("softmax.broken.no_empty_guard");
};

TEST_F(PropertyMain, RightKernelPassesEveryLawAndIsCounted) {
  const fs::path json = folder / "counts.json";
  EXPECT_EQ(run({"--cases", "2", "--json", json.string()}, {right}), 0) << out << err;
  const auto read = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(read["results"].size(), laws_of(ProblemKind::softmax).size());
  for (const auto& result : read["results"]) {
    const std::string law = result["law"];
    EXPECT_FALSE(result["finding"]) << law;
    EXPECT_EQ(result["cases"]["fail"], 0) << law;
    const bool skipped = result["skipped"];
    EXPECT_FALSE(skipped && find_law(law)->judge != nullptr) << law;
    EXPECT_TRUE(skipped || result["cases"]["pass"] > 10) << law;
    EXPECT_THAT(out, HasSubstr((result["skipped"] ? "skip" : "ok  ") + (" softmax.safe.hardened " + law)));
  }
}

TEST_F(PropertyMain, InTurnsJudgingLawsSeeEveryCaseAndTheOthersASampleThatMeetsEveryFamily) {
  const std::vector<KernelDeclaration> four = {right, declaration("softmax.online_two_pass.hardened"),
                                               declaration("softmax.online_block.hardened"),
                                               declaration("softmax.split_row.hardened")};
  const auto asked = [&](std::uint64_t turns) {
    std::map<std::string, std::map<std::string, std::uint64_t>> cases;  // law, family
    PropertyOptions options;
    options.laws = {"within_bound", "shift_invariance", "layout_invariance", "rerun_is_bitwise"};
    options.cases = 1;
    options.turns = turns;
    for (const PropertyResult& result : run_properties(four, options)) {
      for (const auto& [family, counts] : result.by_family)
        cases[std::string(result.law)][family] += std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    }
    return cases;
  };
  const auto sum = [](const auto& families) {
    std::uint64_t all = 0;
    for (const auto& [family, count] : families) all += count;
    return all;
  };
  const auto whole = asked(1);
  for (const auto& [law, families] : asked(8)) {
    EXPECT_EQ(families.size(), whole.at(law).size()) << law;
    if (find_law(law)->judge != nullptr) {
      EXPECT_EQ(sum(families), sum(whole.at(law))) << law;
    } else {
      EXPECT_LE(2 * sum(families), sum(whole.at(law))) << law;
    }
  }
}

TEST_F(PropertyMain, EveryProblemHasCases) {
  EXPECT_EQ(run({"--cases", "1", "--law", "within_bound"},
                {declaration("merge.nway.hardened"), declaration("attention.deferred.hardened")}),
            0)
      << out << err;
  EXPECT_THAT(out, HasSubstr("ok   merge.nway.hardened within_bound"));
  EXPECT_THAT(out, HasSubstr("ok   attention.deferred.hardened within_bound"));
}

TEST_F(PropertyMain, FindingHasAWitnessAndAReplayLineThatFindsItAgain) {
  const fs::path junit = folder / "junit.xml";
  EXPECT_EQ(run({"--law", "within_bound", "--law", "*_semantics", "--junit", junit.string(), "--out",
                 (folder / "w").string()},
                {right, wrong}),
            1);
  const fs::path path = folder / "w" / "softmax.broken.no_empty_guard.class_matches_semantics.safetensors";
  const std::string replay =
      "replay: 'my tests' --kernel softmax.broken.no_empty_guard --law class_matches_semantics --replay " +
      path.string();
  EXPECT_THAT(out, HasSubstr("fail(class_mismatch) softmax:"));
  EXPECT_THAT(out, HasSubstr("witness: " + path.string()));
  EXPECT_THAT(out, HasSubstr(replay));
  const std::string xml = read_file(junit);
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"class_mismatch\" message=\"fail(class_mismatch)"));
  EXPECT_THAT(xml, HasSubstr(" ± "));
  EXPECT_THAT(xml, HasSubstr("witness: " + path.string() + "&#10;replay: '"));

  const Witness witness = read_witness(path);
  EXPECT_EQ(witness.notes.at("kernel"), wrong.id);
  const std::vector<std::string> again = {"--kernel", "softmax.broken.*", "--law", "class_matches_semantics",
                                          "--replay"};
  const auto with = [&](const std::string& target) {
    std::vector<std::string> arguments = again;
    arguments.push_back(target);
    return arguments;
  };
  EXPECT_EQ(run(with(path.string()), {right, wrong}), 1);
  EXPECT_THAT(out, HasSubstr("fail(class_mismatch)"));
  // The recipe of the case as it was drawn fails as well; the witness is a simpler one.
  EXPECT_EQ(run(with(to_string(witness.content.spec)), {right, wrong}), 1);
  const auto& least = std::get<SoftmaxProblem>(witness.content.problem);
  const auto drawn = std::get<SoftmaxProblem>(make_case(witness.content.spec).problem);
  EXPECT_LT(least.x.elements(), drawn.x.elements());
  EXPECT_EQ(least.x.shape[0], 1);
  EXPECT_THAT(out, Not(HasSubstr("softmax.safe.hardened")));
}

TEST_F(PropertyMain, AnEarlierFindingsFilesAreGone) {
  const fs::path stale = folder / "softmax.safe.hardened.within_bound.safetensors";
  std::ofstream(stale) << "old";
  EXPECT_EQ(run({"--family", "normal", "--law", "within_bound", "--out", folder.string()}, {right}), 0);
  EXPECT_FALSE(fs::exists(stale));
}

TEST(LawNames, AreThoseThatCMakeAddsTestsFor) {
  std::set<std::string> sorted;
  for (const Law& law : laws()) sorted.emplace(law.name);
  std::string names;
  for (const std::string& law : sorted) names += (names.empty() ? "" : " ") + law;
  EXPECT_EQ(names, FLASHPROOF_LAW_NAMES);
}

TEST(Problems, AreThoseThatCMakeAddsTestsFor) {
  const std::string_view list = " " FLASHPROOF_TESTED_PROBLEMS " ";
  for (const Kernel& kernel : kernels()) {
    const std::string prefix = " " + std::string(kernel.id.substr(0, kernel.id.find('.'))) + " ";
    EXPECT_NE(list.find(prefix), std::string_view::npos) << kernel.id;
  }
}

TEST_F(PropertyMain, NothingExecutedIsAFinding) {
  EXPECT_EQ(run({}, {}), 1);
  EXPECT_THAT(out, HasSubstr("no kernel was declared"));
  KernelDeclaration refusing = right;
  refusing.unsupported = {[](const Problem&) { return std::string("not today"); }, {}};
  EXPECT_EQ(run({"--family", "normal", "--law", "within_bound"}, {refusing}), 1);
  EXPECT_THAT(out, HasSubstr("unsupported 6"));
  EXPECT_THAT(out, HasSubstr("takes none of these cases"));
  EXPECT_EQ(run({"--family", "lse_gaps", "--law", "within_bound"}, {right}), 2);  // of merges only
  EXPECT_THAT(err, HasSubstr("no chosen kernel is of the problem"));
}

TEST_F(PropertyMain, ALawThatSaysNothingAboutTheKernelIsSkipped) {
  KernelDeclaration unordered = right;
  unordered.contract.deterministic = false;
  const fs::path junit = folder / "junit.xml";
  EXPECT_EQ(
      run({"--family", "normal", "--law", "schedule_invariance_is_bitwise", "--junit", junit.string()}, {unordered}),
      0);
  EXPECT_THAT(out, HasSubstr("skip softmax.safe.hardened schedule_invariance_is_bitwise"));
  EXPECT_THAT(out, HasSubstr("\nskipped: "));
  EXPECT_THAT(read_file(junit),
              HasSubstr("<skipped message=\"the law says nothing about this kernel: the kernel does"));
  EXPECT_EQ(run({"--family", "normal", "--law", "schedule_invariance_is_bitwise"},
                {unordered, declaration("softmax.naive.hardened")}),
            0);
  EXPECT_THAT(out, Not(HasSubstr("\nskipped: ")));
}

TEST_F(PropertyMain, WrongArgumentsAreOneLine) {
  refuses({"--cases", "0"}, "--cases \"0\": must be 1..1000000");
  refuses({"--cases", "1000001"}, "--cases");
  refuses({"--seed", "-1"}, "--seed \"-1\": must be 0..18446744073709551615");
  refuses({"--law"}, "--law: 1 required GLOB missing");
  refuses({"--law", ""}, "--law: empty, legal: a value");
  refuses({"--gpu", "1"}, "unknown option \"--gpu\"");
  refuses({"--replay", "softmax:normal:0", "--family", "normal"}, "--family excludes --replay");
  refuses({"--law", "within_bounds"}, "unknown law \"within_bounds\"; near: within_bound");
  refuses({"--kernel", "nothing"}, "unknown kernel");
  refuses({"--family", "nothing"}, "unknown family");
  refuses({"--junit", folder.string()}, "must be a regular file");
}

// What lies beyond a range is refused by the range that the table has: a row that changes changes the sentence.
TEST_F(PropertyMain, RangesAreThoseOfTheTable) {
  int asked = 0;
  for (const OptionDeclaration* option : options_of("properties")) {
    const std::string name(option->name), range = option->legal.range();
    if (range.empty() || name == "--math") continue;  // of flashproof's own kernels
    refuses({name, "no"}, option->legal.kind == LegalValue::Kind::words ? name + " \"no\": legal " + range
                                                                        : name + " \"no\": must be " + range);
    ++asked;
  }
  EXPECT_EQ(asked, 4);
}

TEST_F(PropertyMain, HelpHasEveryOptionAndRunsNothing) {
  EXPECT_EQ(run({"--help"}, {right}), 0);
  for (const char* option : {"--kernel GLOB", "--cases N:1..1000000", "--judged WHERE:{here,elsewhere}"}) {
    EXPECT_THAT(out, HasSubstr(option));
  }
  EXPECT_THAT(out, Not(HasSubstr("ok  ")));
}

TEST_F(PropertyMain, WrongDeclarationsAreOneLine) {
  KernelDeclaration no_id = right, no_format = right, other = right;
  no_id.id = "a/b";
  no_format.formats = {};
  other.problem = ProblemKind::merge;
  EXPECT_EQ(run({}, {right, right}), 2);
  EXPECT_THAT(err, HasSubstr("declared twice"));
  EXPECT_EQ(run({}, {no_id}), 2);
  EXPECT_THAT(err, HasSubstr("kernel id \"a/b\""));
  EXPECT_EQ(run({}, {no_format}), 2);
  EXPECT_THAT(err, HasSubstr("declares no format"));
  EXPECT_EQ(run({}, {other}), 2);
  EXPECT_THAT(err, HasSubstr("arguments of a merge problem"));
}

// Two laws fail on one draw: both are findings, each with a witness of its own.
TEST_F(PropertyMain, EveryLawThatFailsIsAFinding) {
  EXPECT_EQ(run({"--cases", "1", "--family", "mask_row", "--out", (folder / "w").string()}, {wrong}), 1);
  std::size_t failed = 0, witnesses = 0;
  for (std::size_t at = 0; (at = out.find(" fail 1\n", at)) != std::string::npos; ++at) ++failed;
  for (std::size_t at = 0; (at = out.find("  witness: ", at)) != std::string::npos; ++at) ++witnesses;
  EXPECT_GT(failed, 1U) << out;
  EXPECT_EQ(failed, witnesses) << out;
}

TEST_F(PropertyMain, ReplayKeepsItsFileAndLeavesOtherProblemsOut) {
  EXPECT_EQ(run({"--law", "class_matches_semantics", "--out", (folder / "w").string()}, {wrong}), 1);
  const fs::path path = folder / "w" / "softmax.broken.no_empty_guard.class_matches_semantics.safetensors";
  const KernelDeclaration merge = declaration("merge.nway.hardened");
  EXPECT_EQ(run({"--law", "class_matches_semantics", "--out", (folder / "w").string(), "--replay", path.string()},
                {right, wrong, merge}),
            1);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_THAT(out, HasSubstr("--replay " + path.string()));
  EXPECT_THAT(out, Not(HasSubstr("shrunk")));
  EXPECT_THAT(out, Not(HasSubstr("merge.nway")));
}

void throws(const SoftmaxArgs&, Stream) { throw std::logic_error("the harness is broken"); }

TEST_F(PropertyMain, WhatIsNoFindingIsThrownOn) {
  KernelDeclaration thrower = right;
  thrower.launch = throws;
  EXPECT_EQ(run({"--law", "within_bound", "--family", "normal"}, {thrower}), 3);
  EXPECT_THAT(err, HasSubstr("the harness is broken"));
}

void crashes(const SoftmaxArgs&, Stream) { std::raise(SIGSEGV); }

TEST_F(PropertyMain, ACrashIsToldWithItsReplayLine) {
  KernelDeclaration crasher = right;
  crasher.launch = crashes;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::string words[] = {"my tests", "--law", "within_bound", "--family", "normal"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data()};
  EXPECT_DEATH(property_main(5, argv, std::span(&crasher, 1)),
               "the kernel crashed: softmax.safe.hardened within_bound softmax:normal:[0-9]+:format=.*\n"
               "  replay: 'my tests' --kernel softmax.safe.hardened --law within_bound --replay softmax:normal");
}

TEST_F(PropertyMain, AFileThatCannotBeWrittenIsTheMachines) {
  std::ofstream(folder / "file") << "not a folder";
  EXPECT_EQ(run({"--family", "normal", "--json", (folder / "file" / "x").string()}, {right}), 3);
  EXPECT_THAT(err, HasSubstr("file/x"));
}

TEST(property_run, says_how_far_it_is_and_stops_with_what_it_has) {
  PropertyOptions options;
  options.laws = {"within_bound"};
  options.cases = 1;
  std::uint64_t done = 0, total = 0;
  options.progress = [&](std::uint64_t now, std::uint64_t all) { done = now, total = all; };
  const std::vector<KernelDeclaration> kernels = {declaration("softmax.online_two_pass.hardened"),
                                                  declaration("softmax.online_block.hardened")};
  options.stop = [&] { return done == 2; };
  const auto stopped = run_properties(kernels, options);
  EXPECT_EQ(done, 2U);
  EXPECT_GT(total, 20U);
  ASSERT_EQ(stopped.size(), 1U);
  EXPECT_EQ(stopped[0].by_family.size(), 2U);
  EXPECT_GT(stopped[0].power.elements(), 0U) << "what it had decided by then";
  options.stop = [] { return false; };
  EXPECT_EQ(run_properties(kernels, options).size(), 2U);
  EXPECT_EQ(done, total);
}

TEST(property_run, a_law_that_a_stopped_run_did_not_reach_is_neither_skipped_nor_a_pass) {
  PropertyOptions options;
  options.laws = {"within_bound", "rerun_is_bitwise"};
  options.cases = 1;
  int asked = 0;
  options.stop = [&] { return ++asked > 3; };  // of the kernel, of the family, of the case; then within the case
  const std::vector<KernelDeclaration> kernels = {declaration("softmax.online_two_pass.hardened")};
  const auto results = run_properties(kernels, options);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].executed(), 1U);
  EXPECT_FALSE(results[0].unasked);
  EXPECT_EQ(results[1].executed(), 0U);
  EXPECT_TRUE(results[1].unasked && results[1].unproven() && !results[1].skipped() && !results[1].finding());
  EXPECT_EQ(results[1].undecided, kLeftUnasked);
}

/// It takes every case, and nothing of what a law makes of one.
TEST(property_run, a_law_whose_problems_a_foreign_kernel_refuses_leaves_the_run_undecided) {
  const Kernel own{declaration("softmax.safe.hardened")};
  KernelDeclaration refuses = own;
  refuses.launch = static_cast<void (*)(const SoftmaxArgs&, Stream)>(nullptr);
  PropertyOptions options;
  options.laws = {"within_bound", "shift_invariance"};
  options.families = {"normal"};
  options.cases = 3;
  std::set<std::vector<std::int64_t>> shapes;
  refuses.foreign = [&](const Problem& problem, const RunOptions& with) {
    if (!shapes.insert(std::get<SoftmaxProblem>(problem).x.shape).second) throw UsageError("not this shape again");
    return run(own, problem, with);
  };
  const auto results = run_properties(std::span(&refuses, 1), options);
  const auto shift = std::ranges::find(results, "shift_invariance", &PropertyResult::law);
  ASSERT_NE(shift, results.end());
  EXPECT_THAT(shift->undecided, HasSubstr("cases the kernel refused what the law made of them"));
}

}  // namespace
}  // namespace flashproof
