#include "reports/plugin/test/adversary_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reports/plugin/test/adversaries.h"

namespace flashproof {
namespace {

using Word = RunVerdict::Word;

/// The cause without the numbers and names of its one run, so that runs can be counted by it.
std::string why_no_pass(const RunVerdict& verdict) {
  const std::string& detail = verdict.detail;
  if (verdict.cause == "share") {  // power_text()
    const std::size_t part = detail.find(" of ") + 4, reason = detail.find(" of it ") + 7;
    return fmt::format("too little of {}: {}", detail.substr(part, detail.find(" was decided") - part),
                       detail.substr(reason));
  }
  if (verdict.cause == "declaration") {
    return fmt::format("{} leaves most families out of the domain", detail.substr(0, detail.find('"', 1) + 1));
  }
  if (verdict.cause == "families") return "too many families have too little decided";
  if (verdict.cause == "taken") return "\"takes\" and \"limits\" leave too few families";
  if (verdict.cause == "nothing computed") return "an output is mostly what a kernel that computes nothing returns";
  return verdict.cause;
}

}  // namespace

void AdversaryTable::add(const AdversaryDeclaration& declaration, const Adversary& adversary,
                         const RunVerdict& verdict) {
  OfProblem& table = problems_[declaration.problem];
  Row& row = table.rows[adversary.name];
  ++row.groups[declaration.group][static_cast<std::size_t>(verdict.word)];
  ++row.causes[verdict.word == Word::pass ? "pass" : verdict.cause];
  if (adversary.claim == Claim::right && verdict.word != Word::pass) {
    ++table.no_pass[fmt::format("{} | {}", name(verdict.word), why_no_pass(verdict))];
  }
}

std::string AdversaryTable::cell(const Words& words) {
  return fmt::format("{} / {} / {}", words[static_cast<std::size_t>(Word::fail)],
                     words[static_cast<std::size_t>(Word::undecided)], words[static_cast<std::size_t>(Word::pass)]);
}

std::string AdversaryTable::counts_of(ProblemKind problem, const OfProblem& table) {
  std::array<Words, 3> by_claim{};
  for (const Adversary& adversary : adversaries(problem)) {
    const auto found = table.rows.find(adversary.name);
    if (found == table.rows.end()) continue;
    for (const auto& [group, words] : found->second.groups) {
      for (std::size_t i = 0; i < words.size(); ++i) {
        by_claim[static_cast<std::size_t>(adversary.claim)][i] += words[i];
      }
    }
  }
  return fmt::format("fail / undecided / pass: wrong kernels {}, lazy ones {}, the rounded truth {}\n",
                     cell(by_claim[0]), cell(by_claim[1]), cell(by_claim[2]));
}

std::string AdversaryTable::rows_of(ProblemKind problem, const OfProblem& table) {
  std::string text = "| adversary |", line = "|---|";
  std::vector<std::string_view> asked;
  for (const std::string_view group : kDeclarationGroups) {
    const auto has = [&](const auto& row) { return row.second.groups.contains(group); };
    if (std::ranges::any_of(table.rows, has)) asked.push_back(group);
  }
  for (const std::string_view group : asked) text += fmt::format(" {} |", group), line += "---|";
  text += " caught by |\n" + line + "---|\n";
  for (const Adversary& adversary : adversaries(problem)) {
    const auto found = table.rows.find(adversary.name);
    if (found == table.rows.end()) continue;
    text += fmt::format("| {} |", adversary.name);
    for (const std::string_view group : asked) {
      const auto words = found->second.groups.find(group);
      text += fmt::format(" {} |", words == found->second.groups.end() ? "" : cell(words->second));
    }
    std::string causes;
    for (const auto& [cause, count] : found->second.causes) {
      causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", cause, count);
    }
    text += fmt::format(" {} |\n", causes);
  }
  return text;
}

std::string AdversaryTable::brief() const {
  std::string text;
  for (const auto& [problem, table] : problems_)
    text += fmt::format("{}: {}", name(problem), counts_of(problem, table));
  return text;
}

std::string AdversaryTable::text() const {
  std::string text;
  for (const auto& [problem, table] : problems_) {
    text += fmt::format("\n## {}\n\n{}\n{}", name(problem), counts_of(problem, table), rows_of(problem, table));
    if (table.no_pass.empty()) continue;
    text +=
        "\nThe rounded truth itself is no pass under some of these declarations:\n\n| | why | declarations "
        "|\n|---|---|---|\n";
    for (const auto& [why, count] : table.no_pass) text += fmt::format("| {} | {} |\n", why, count);
  }
  return text;
}

}  // namespace flashproof
