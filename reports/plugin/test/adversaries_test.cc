// Every adversary under every declaration: none that is wrong gets a pass, and one that is lazy gets it where a right one does.
//
//   FLASHPROOF_ADVERSARY_TABLES=FOLDER ./adversaries_nightly_test    writes the table of the tests that ran (reports/tables/adversaries-*.md)
//   into a file named after the first of them: CTest, which runs each in a process of its own, writes a file for each.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "reports/plugin/test/adversary_table.h"

#ifndef FLASHPROOF_ADVERSARY_DRAWS  // joint declarations of each problem and format
#define FLASHPROOF_ADVERSARY_DRAWS 12
#define FLASHPROOF_ADVERSARY_CASES 1   // per family
#define FLASHPROOF_ADVERSARY_EVERY 30  // of the declarations one in so many, every preset and all semantics
#endif

namespace flashproof {
namespace {

using Word = RunVerdict::Word;

constexpr std::uint64_t kSeed = 0;
constexpr bool kNightly = FLASHPROOF_ADVERSARY_EVERY == 1;

AdversaryTable table_of_all;

std::vector<const Law*> judging() {
  std::vector<const Law*> list;
  for (const Law& law : judging_laws()) list.push_back(&law);
  return list;
}

/// Whether something that the kernel returns is wrong.
bool counts(const Adversary& adversary, const Contract& contract) {
  return adversary.claim != Claim::wrong ||
         std::ranges::any_of(adversary.parts, [&](Part part) { return returned(contract, part); });
}

/// Under which no more is wrong with the rounded truth than that the test sees too little.
bool must_pass(std::string_view group) { return group == "preset" || group == "semantics"; }

struct Inputs {
  ProblemKind problem;
  Format format;
};
std::string text(const Inputs& in) { return fmt::format("{}_{}", name(in.problem), info(in.format).name); }

using Families = std::vector<std::vector<AdversaryCase*>>;

bool takes_none(const Families& families) {
  return std::ranges::all_of(families, [](const auto& cases) { return cases.empty(); });
}

RunVerdict verdict_on(const Adversary& adversary, const DeclaredKernel& declared, const Families& families,
                      std::span<const Law* const> laws) {
  const auto runner = [&](AdversaryCase& one) { return runner_of(adversary, one.content.problem, one.right); };
  return check_in_process(declared.kernel(), families, laws, runner, declared.declared());
}

class Adversaries : public testing::TestWithParam<Inputs> {
 protected:
  Inputs in = GetParam();
  CasePool pool{in.problem, in.format, kSeed};
  std::vector<AdversaryDeclaration> all =
      adversary_declarations(in.problem, in.format, FLASHPROOF_ADVERSARY_DRAWS, kSeed);

  struct Chosen {
    const AdversaryDeclaration* declaration;
    DeclaredKernel kernel;
    Families families;  // a case of each
  };
  /// Declaration `index` of the group, counted round and round, or the next under which some family has a case.
  std::unique_ptr<Chosen> choose(std::string_view group, std::size_t index) {
    std::vector<const AdversaryDeclaration*> list;
    for (const AdversaryDeclaration& one : all) {
      if (one.group == group) list.push_back(&one);
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const AdversaryDeclaration* one = list[(index + i) % list.size()];
      auto chosen = std::unique_ptr<Chosen>(new Chosen{one, DeclaredKernel(*one), {}});
      chosen->families = pool.taken(chosen->kernel.kernel(), 1);
      if (!takes_none(chosen->families)) return chosen;
    }
    return nullptr;  // of a gradient there are no semantics
  }
  /// By night every group, by day the first and another one for each `number`.
  static bool asks(std::size_t group, std::size_t number) {
    return kNightly || group == 0 || group == 1 + number % (kDeclarationGroups.size() - 1);
  }
};

TEST_P(Adversaries, none_gets_a_pass) {
  const std::vector<const Law*> laws = judging();
  std::size_t asked = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AdversaryDeclaration& declaration = all[i];
    if (!must_pass(declaration.group) && i % FLASHPROOF_ADVERSARY_EVERY != 0) continue;
    const DeclaredKernel declared(declaration);
    const Families families = pool.taken(declared.kernel(), FLASHPROOF_ADVERSARY_CASES);
    if (takes_none(families)) continue;  // a finding: untested
    ++asked;
    std::map<std::string_view, RunVerdict> verdicts;
    for (const Adversary& adversary : adversaries(in.problem)) {
      if (!counts(adversary, declared.kernel().contract)) continue;
      SCOPED_TRACE(declaration.json);
      const RunVerdict verdict = verdict_on(adversary, declared, families, laws);
      table_of_all.add(declaration, adversary, verdict);
      if (adversary.claim == Claim::wrong) {
        EXPECT_NE(verdict.word, Word::pass) << adversary.name << " under " << declaration.json;
      }
      verdicts.emplace(adversary.name, verdict);
    }
    const RunVerdict& right = verdicts.at("truth");
    for (const Adversary& adversary : adversaries(in.problem)) {
      if (adversary.claim != Claim::lazy) continue;
      EXPECT_GE(verdicts.at(adversary.name).word, right.word) << adversary.name << " under " << declaration.json;
    }
    if (must_pass(declaration.group)) {
      EXPECT_EQ(right.word, Word::pass) << declaration.json << ": " << right.detail;
    }
    // It is right: what may be found is that the declaration excuses too much, or leaves nothing to be asked.
    EXPECT_TRUE(right.word != Word::fail || right.cause == "declaration" || right.cause == "untested")
        << declaration.json << ": " << right.cause << " " << right.detail;
  }
  EXPECT_GT(asked, 10U);
}

/// All laws at once, the relating ones with them.
TEST_P(Adversaries, every_law_is_asked_and_none_gets_a_pass) {
  const std::span<const Law* const> laws = laws_of(in.problem);
  const std::size_t number = static_cast<std::size_t>(in.problem) * 3 + static_cast<std::size_t>(in.format);
  for (std::size_t group = 0; group < kDeclarationGroups.size(); ++group) {
    if (!asks(group, number)) continue;
    const auto chosen = choose(kDeclarationGroups[group], group == 0 ? 0 : number);
    if (chosen == nullptr) continue;
    for (const Adversary& adversary : adversaries(in.problem)) {
      if (adversary.claim == Claim::lazy || !counts(adversary, chosen->kernel.kernel().contract)) continue;
      const RunVerdict verdict = verdict_on(adversary, chosen->kernel, chosen->families, laws);
      const std::string what = fmt::format("{} under {}: {} {} {}", adversary.name, chosen->declaration->json,
                                           name(verdict.word), verdict.cause, verdict.detail);
      const bool right = adversary.claim == Claim::right;
      EXPECT_TRUE(right || verdict.word != Word::pass) << what;
      EXPECT_TRUE(!right || group != 0 || verdict.word == Word::pass) << what;
      EXPECT_TRUE(!right || verdict.word != Word::fail || verdict.cause == "declaration") << what;
    }
  }
}

/// The least that a kernel can do, law by law: what compares outputs with each other holds of NaN and of zeros. A right one passes
/// every law that says something of it. Each law is asked under other declarations than its neighbours.
TEST_P(Adversaries, a_law_alone_gives_none_a_pass) {
  if (!kNightly && in.format != Format::f32) GTEST_SKIP() << "as f32";
  const std::span<const Law* const> laws = laws_of(in.problem);
  std::size_t passes = 0;
  for (std::size_t group = 0; group < kDeclarationGroups.size(); ++group) {
    for (std::size_t number = 0; number < laws.size(); ++number) {
      if (!asks(group, number)) continue;
      const auto chosen = choose(kDeclarationGroups[group], group == 0 ? 0 : number);
      if (chosen == nullptr) continue;
      const std::vector<const Law*> alone = {laws[number]};
      for (const char* name : {"NaN", "0", "truth"}) {
        const Adversary& adversary = find_adversary(in.problem, name);
        const RunVerdict verdict = verdict_on(adversary, chosen->kernel, chosen->families, alone);
        const std::string what =
            fmt::format("{} by {} alone under {}: {} {} {}", name, laws[number]->name, chosen->declaration->json,
                        flashproof::name(verdict.word), verdict.cause, verdict.detail);
        if (adversary.claim == Claim::right) {
          passes += group == 0 && verdict.word == Word::pass ? 1 : 0;
          EXPECT_TRUE(verdict.word != Word::fail || verdict.cause == "declaration") << what;
        } else {
          EXPECT_NE(verdict.word, Word::pass) << what;
          EXPECT_TRUE(group != 0 || verdict.word == Word::fail || verdict.cause == "unasked") << what;
        }
      }
    }
  }
  EXPECT_EQ(passes, laws.size());
}

INSTANTIATE_TEST_SUITE_P(
    all, Adversaries,
    testing::Values(Inputs{ProblemKind::softmax, Format::f32}, Inputs{ProblemKind::softmax, Format::f16},
                    Inputs{ProblemKind::softmax, Format::bf16}, Inputs{ProblemKind::merge, Format::f32},
                    Inputs{ProblemKind::merge, Format::f16}, Inputs{ProblemKind::merge, Format::bf16},
                    Inputs{ProblemKind::attention, Format::f32}, Inputs{ProblemKind::attention, Format::f16},
                    Inputs{ProblemKind::attention, Format::bf16}, Inputs{ProblemKind::backward, Format::f32},
                    Inputs{ProblemKind::backward, Format::f16}, Inputs{ProblemKind::backward, Format::bf16}),
    [](const auto& info) { return text(info.param); });

/// How much of all was asked, in words.
std::string title() {
  std::string text =
      "# Adversaries\n\nKernels that compute nothing, or not all of it, under the declarations that a description of "
      "the C ABI can make:\n"
      "presets, fields one at a time, joint draws of fields, the flags of the contract, semantics, limits and what is "
      "taken\n"
      "(`reports/plugin/test/adversary_declarations.h`), judged as `./flashproof check` judges. A cell is fail / "
      "undecided / pass. *Wrong*\n"
      "kernels must never pass. *Lazy* ones are right wherever their declaration asks for something: they pass at most "
      "where the rounded\n"
      "truth does. Gradients: an answer without a name before it is that of dq, dk and dv together.\n\n";
  if (kNightly) {
    text += fmt::format(
        "Every declaration, {} joint draws a problem and format, {} cases of each family: "
        "`adversaries_nightly_test`.\n",
        FLASHPROOF_ADVERSARY_DRAWS, FLASHPROOF_ADVERSARY_CASES);
  } else {
    text += fmt::format(
        "Every preset and all semantics, of the other declarations one in {}, {} case of each family: the day's\n"
        "`adversaries_test`. `adversaries_nightly_test` asks every declaration.\n",
        FLASHPROOF_ADVERSARY_EVERY, FLASHPROOF_ADVERSARY_CASES);
  }
  return text;
}

class PrintTable : public testing::Environment {
 public:
  void TearDown() override {
    if (table_of_all.empty()) return;
    std::printf("%s", table_of_all.brief().c_str());
    const char* const folder = std::getenv("FLASHPROOF_ADVERSARY_TABLES");
    if (folder == nullptr) return;
    std::filesystem::create_directories(folder);
    std::ofstream file(std::filesystem::path(folder) / (first_test() + ".md"));
    file << title() << table_of_all.text();
    EXPECT_TRUE(file.flush()) << "FLASHPROOF_ADVERSARY_TABLES: nothing written into " << folder;
  }

 private:
  static std::string first_test() {
    const testing::UnitTest& run = *testing::UnitTest::GetInstance();
    for (int s = 0; s < run.total_test_suite_count(); ++s) {
      const testing::TestSuite& suite = *run.GetTestSuite(s);
      for (int t = 0; t < suite.total_test_count(); ++t) {
        const testing::TestInfo& test = *suite.GetTestInfo(t);
        if (!test.should_run()) continue;
        std::string name = fmt::format("{}.{}", test.test_suite_name(), test.name());
        std::ranges::replace(name, '/', '.');
        return name;
      }
    }
    return "no_test";
  }
};
const testing::Environment* const kPrint = testing::AddGlobalTestEnvironment(new PrintTable);

}  // namespace
}  // namespace flashproof
