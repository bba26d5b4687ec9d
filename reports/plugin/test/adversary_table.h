// Test support: what became of every adversary under every declaration that was asked, as reports/tables/adversaries-*.md has it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reports/plugin/test/adversary_declarations.h"
#include "reports/plugin/test/adversary_run.h"

namespace flashproof {

/// Of a declaration (adversary_declarations.h), in the order of the table's columns.
inline constexpr std::array<std::string_view, 6> kDeclarationGroups = {"preset",   "field",     "joint",
                                                                       "contract", "semantics", "limits"};

class AdversaryTable {
 public:
  void add(const AdversaryDeclaration& declaration, const Adversary& adversary, const RunVerdict& verdict);
  bool empty() const { return problems_.empty(); }
  /// The counts alone, a line for each problem.
  std::string brief() const;
  /// A section for each problem. Markdown.
  std::string text() const;

 private:
  using Words = std::array<std::uint64_t, 3>;  // by RunVerdict::Word
  struct Row {
    std::map<std::string, Words, std::less<>> groups;
    std::map<std::string, std::uint64_t, std::less<>> causes;
  };
  struct OfProblem {
    std::map<std::string, Row, std::less<>> rows;               // by adversary
    std::map<std::string, std::uint64_t, std::less<>> no_pass;  // why the rounded truth is none
  };

  static std::string cell(const Words& words);
  static std::string counts_of(ProblemKind problem, const OfProblem& table);
  static std::string rows_of(ProblemKind problem, const OfProblem& table);

  std::map<ProblemKind, OfProblem> problems_;
};

}  // namespace flashproof
