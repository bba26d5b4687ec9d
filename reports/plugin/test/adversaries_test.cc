// Every adversary under every declaration: none that is wrong gets a pass, and one that is lazy gets it where a right one does.
//
//   FLASHPROOF_ADVERSARY_TABLE=FILE ./adversaries_nightly_test    writes the table (reports/tables/adversaries-*.md)
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>

#include "reference/error/declared_terms.h"
#include "reference/error/semantics_json.h"
#include "reports/plugin/test/adversary_declarations.h"
#include "reports/plugin/test/adversary_run.h"

#ifndef FLASHPROOF_ADVERSARY_DRAWS  // joint declarations of each problem and format
#define FLASHPROOF_ADVERSARY_DRAWS 12
#define FLASHPROOF_ADVERSARY_CASES 1   // per family
#define FLASHPROOF_ADVERSARY_EVERY 30  // of the declarations one in so many, and every preset
#endif

namespace flashproof {
namespace {

using Word = RunVerdict::Word;
using Words = std::array<std::uint64_t, 3>;

constexpr std::uint64_t kSeed = 0;

/// Counts by adversary and group of declarations, and what caught it.
struct Table {
  std::map<std::string, Words, std::less<>> groups;
  std::map<std::string, std::uint64_t, std::less<>> causes;
};

std::map<std::string, Table, std::less<>> table_of_all;
std::vector<std::string> too_wide;

std::vector<const Law*> judging() {
  std::vector<const Law*> list;
  for (const Law& law : judging_laws()) list.push_back(&law);
  return list;
}

bool counts(const Adversary& adversary, const Contract& contract) {
  return adversary.claim != Claim::wrong || (adversary.o && returned(contract, Part::o)) ||
         (adversary.lse && returned(contract, Part::lse));
}

struct Inputs {
  ProblemKind problem;
  Format format;
};
std::string text(const Inputs& in) { return fmt::format("{}_{}", name(in.problem), info(in.format).name); }

class Adversaries : public testing::TestWithParam<Inputs> {};

TEST_P(Adversaries, none_gets_a_pass) {
  const Inputs in = GetParam();
  CasePool pool(in.problem, in.format, kSeed);
  const std::vector<const Law*> laws = judging();
  std::size_t asked = 0;
  const auto all = adversary_declarations(in.problem, in.format, FLASHPROOF_ADVERSARY_DRAWS, kSeed);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const AdversaryDeclaration& declaration = all[i];
    const bool always = declaration.group == "preset" || declaration.group == "semantics";
    if (!always && i % FLASHPROOF_ADVERSARY_EVERY != 0) continue;
    const DeclaredKernel declared(declaration);
    const auto families = pool.taken(declared.kernel(), FLASHPROOF_ADVERSARY_CASES);
    if (std::ranges::all_of(families, [](const auto& cases) { return cases.empty(); }))
      continue;  // a finding: untested
    ++asked;
    const auto verdict_on = [&](const Adversary& adversary) {
      SCOPED_TRACE(declaration.json);
      return check_in_process(declared.kernel(), families, laws,
                              [&](AdversaryCase& one) { return runner_of(adversary, one.content.problem, one.right); });
    };
    std::map<std::string_view, RunVerdict> verdicts;
    for (const Adversary& adversary : adversaries()) {
      if (!counts(adversary, declared.kernel().contract)) continue;
      const RunVerdict verdict = verdict_on(adversary);
      Table& table = table_of_all[std::string(adversary.name)];
      ++table.groups[declaration.group][static_cast<std::size_t>(verdict.word)];
      ++table.causes[verdict.word == Word::pass ? "pass" : verdict.cause];
      if (adversary.claim == Claim::wrong) {
        EXPECT_NE(verdict.word, Word::pass) << adversary.name << " under " << declaration.json;
      }
      verdicts.emplace(adversary.name, verdict);
    }
    const RunVerdict& right = verdicts.at("truth");
    for (const Adversary& adversary : adversaries()) {
      if (adversary.claim != Claim::lazy) continue;
      EXPECT_GE(verdicts.at(adversary.name).word, right.word) << adversary.name << " under " << declaration.json;
    }
    if (right.word != Word::pass) {
      too_wide.push_back(fmt::format("{} {}: {} ({})", text(in), declaration.json, name(right.word), right.detail));
    }
    EXPECT_TRUE(right.word == Word::pass || !always) << declaration.json << ": " << right.detail;
  }
  EXPECT_GT(asked, 10U);
}
INSTANTIATE_TEST_SUITE_P(
    all, Adversaries,
    testing::Values(Inputs{ProblemKind::softmax, Format::f32}, Inputs{ProblemKind::softmax, Format::f16},
                    Inputs{ProblemKind::softmax, Format::bf16}, Inputs{ProblemKind::merge, Format::f32},
                    Inputs{ProblemKind::merge, Format::f16}, Inputs{ProblemKind::merge, Format::bf16},
                    Inputs{ProblemKind::attention, Format::f32}, Inputs{ProblemKind::attention, Format::f16},
                    Inputs{ProblemKind::attention, Format::bf16}),
    [](const auto& info) { return text(info.param); });

/// All laws, the relating ones with them, of one preset: a relating law alone may well pass a constant.
TEST_P(Adversaries, every_law_is_asked_and_none_gets_a_pass) {
  const Inputs in = GetParam();
  CasePool pool(in.problem, in.format, kSeed);
  const std::span<const Law* const> all = laws_of(in.problem);
  const DeclaredKernel declared(adversary_declarations(in.problem, in.format, 0, kSeed).front());
  auto families = pool.taken(declared.kernel(), 1);
  for (const Adversary& adversary : adversaries()) {
    if (adversary.claim == Claim::lazy) continue;
    const RunVerdict verdict = check_in_process(declared.kernel(), families, all, [&](AdversaryCase& one) {
      return runner_of(adversary, one.content.problem, one.right);
    });
    EXPECT_EQ(verdict.word == Word::pass, adversary.claim == Claim::right)
        << adversary.name << ": " << name(verdict.word) << " " << verdict.cause << " " << verdict.detail;
  }
}

/// The least that a kernel can do, law by law: what compares outputs with each other holds of NaN and of zeros. A right one passes
/// every law that says something of it.
TEST_P(Adversaries, a_law_alone_gives_none_a_pass) {
  const Inputs in = GetParam();
  if (in.format != Format::f32) GTEST_SKIP() << "as f32";
  CasePool pool(in.problem, in.format, kSeed);
  const DeclaredKernel declared(adversary_declarations(in.problem, in.format, 0, kSeed).front());
  const auto families = pool.taken(declared.kernel(), 1);
  std::size_t passes = 0;
  for (const Law* each : laws_of(in.problem)) {
    const Law& law = *each;
    const std::vector<const Law*> alone = {&law};
    for (const std::string_view name : {"NaN", "0", "truth"}) {
      const Adversary& adversary = find_adversary(name);
      const RunVerdict verdict = check_in_process(declared.kernel(), families, alone, [&](AdversaryCase& one) {
        return runner_of(adversary, one.content.problem, one.right);
      });
      if (adversary.claim == Claim::right) {
        passes += verdict.word == Word::pass ? 1 : 0;
        EXPECT_NE(verdict.word, Word::fail) << law.name << ": " << verdict.detail;
      } else {
        EXPECT_NE(verdict.word, Word::pass) << name << " passes " << law.name << " alone";
        EXPECT_TRUE(verdict.word == Word::fail || verdict.cause == "unasked") << law.name << ": " << verdict.detail;
      }
    }
  }
  EXPECT_EQ(passes, laws_of(in.problem).size());
}

/// What a kernel that is right by `actual` returns where it declares other semantics.
Output by_other_semantics(const Problem& problem, const Semantics& declared, const Semantics& actual) {
  Problem given = handed_over(problem, declared).value_or(problem);
  auto* merge = std::get_if<MergeProblem>(&given);
  const Tensor lse = merge == nullptr ? Tensor() : merge->lse;
  for (std::int64_t i = 0; merge != nullptr && actual.lse_base == LseBase::two && i < merge->lse.elements(); ++i) {
    const std::int64_t rows = merge->lse.shape[1];
    merge->lse.set({i / rows, i % rows}, lse.at({i / rows, i % rows}) / kLog2E);
  }
  return right_output(as_declared(std::move(given), actual), actual);
}

/// Nothing but `any`, which the report lists, lets another value of the field through.
TEST_P(Adversaries, a_kernel_of_other_semantics_gets_no_pass) {
  const Inputs in = GetParam();
  if (in.format != Format::f32) GTEST_SKIP() << "as f32";
  CasePool pool(in.problem, in.format, kSeed);
  std::vector<const Law*> laws = judging();
  laws.push_back(find_law("visible_nan_is_not_laundered"));  // few families have rows that see NaN or +inf
  const AdversaryDeclaration declaration = adversary_declarations(in.problem, in.format, 0, kSeed).front();
  int asked = 0;
  for (const SemanticsField& field : semantics_fields()) {
    for (std::size_t said = 0; said < field.legal.size(); ++said) {
      if (!is_legal(field, said, in.problem) || field.legal[said] == "any") continue;
      Semantics declared;
      field.set(declared, said);
      const DeclaredKernel base(declaration);
      Kernel kernel = base.kernel();
      kernel.contract.semantics = declared;
      const auto families = pool.taken(kernel, 2);
      for (std::size_t does = 0; does < field.legal.size(); ++does) {
        if (does == said || !is_legal(field, does, in.problem) || field.legal[does] == "any") continue;
        Semantics actual;
        field.set(actual, does);
        const RunVerdict verdict = check_in_process(kernel, families, laws, [&](AdversaryCase&) -> Runner {
          return [&](const Kernel&, const Problem& problem, const RunOptions&) {
            return by_other_semantics(problem, declared, actual);
          };
        });
        ++asked;
        EXPECT_NE(verdict.word, Word::pass)
            << field.name << ": declared " << field.legal[said] << ", returned " << field.legal[does];
      }
    }
  }
  EXPECT_GT(asked, 10);
}

std::string cell(const Words& words) {
  return fmt::format("{} / {} / {}", words[static_cast<std::size_t>(Word::fail)],
                     words[static_cast<std::size_t>(Word::undecided)], words[static_cast<std::size_t>(Word::pass)]);
}

/// As it goes into reports/tables; `brief`: the counts alone.
std::string table_text(bool brief) {
  constexpr std::array<std::string_view, 6> kGroups = {"preset", "field", "joint", "contract", "semantics", "limits"};
  Words wrong{}, lazy{}, right{};
  std::string rows;
  for (const Adversary& adversary : adversaries()) {
    const auto found = table_of_all.find(adversary.name);
    if (found == table_of_all.end()) continue;
    Words& total = adversary.claim == Claim::wrong ? wrong : adversary.claim == Claim::lazy ? lazy : right;
    rows += fmt::format("| {} ", adversary.name);
    for (const std::string_view group : kGroups) {
      const auto words = found->second.groups.find(group);
      rows += fmt::format("| {} ", words == found->second.groups.end() ? "" : cell(words->second));
      for (std::size_t i = 0; i < total.size() && words != found->second.groups.end(); ++i)
        total[i] += words->second[i];
    }
    rows += "|";
    for (const auto& [cause, count] : found->second.causes) rows += fmt::format(" {} {},", cause, count);
    rows.back() = ' ';
    rows += "|\n";
  }
  std::string counts = fmt::format("fail / undecided / pass: wrong kernels {}, lazy ones {}, the rounded truth {}\n",
                                   cell(wrong), cell(lazy), cell(right));
  if (brief) return counts;
  std::string text = fmt::format("{}\n| adversary |", counts);
  for (const std::string_view group : kGroups) text += fmt::format(" {} |", group);
  text += " caught by |\n|---|---|---|---|---|---|---|---|\n" + rows;
  text += fmt::format("\nDeclarations under which the rounded truth itself is no pass, {}:\n\n", too_wide.size());
  for (const std::string& one : too_wide) text += "- " + one + "\n";
  return text;
}

class PrintTable : public testing::Environment {
 public:
  void TearDown() override {
    if (table_of_all.empty()) return;
    std::printf("%s", table_text(true).c_str());
    if (const char* file = std::getenv("FLASHPROOF_ADVERSARY_TABLE")) std::ofstream(file) << table_text(false);
  }
};
const testing::Environment* const kPrint = testing::AddGlobalTestEnvironment(new PrintTable);

}  // namespace
}  // namespace flashproof
