// Kernels that are right by other semantics than they declare.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "reference/error/semantics/declared_terms.h"
#include "reference/error/semantics/semantics_json.h"
#include "reports/plugin/test/adversary_declarations.h"
#include "reports/plugin/test/adversary_run.h"

namespace flashproof {
namespace {

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

class OtherSemantics : public testing::TestWithParam<ProblemKind> {};

/// Nothing but `any`, which the report lists, lets another value of the field through.
TEST_P(OtherSemantics, get_no_pass) {
  const ProblemKind problem = GetParam();
  CasePool pool(problem, Format::f32, 0);
  std::vector<const Law*> laws;
  for (const Law& law : judging_laws()) laws.push_back(&law);
  laws.push_back(find_law("visible_nan_is_not_laundered"));  // few families have rows that see NaN or +inf
  const AdversaryDeclaration declaration = adversary_declarations(problem, Format::f32, 0, 0).front();
  int asked = 0;
  for (const SemanticsField& field : semantics_fields()) {
    for (std::size_t said = 0; said < field.legal.size(); ++said) {
      if (!is_legal(field, said, problem) || field.legal[said] == "any") continue;
      Semantics declared;
      field.set(declared, said);
      const DeclaredKernel base(declaration);
      Kernel kernel = base.kernel();
      kernel.contract.semantics = declared;
      const auto families = pool.taken(kernel, 2);
      for (std::size_t does = 0; does < field.legal.size(); ++does) {
        if (does == said || !is_legal(field, does, problem) || field.legal[does] == "any") continue;
        Semantics actual;
        field.set(actual, does);
        const RunVerdict verdict = check_in_process(kernel, families, laws, [&](AdversaryCase&) -> Runner {
          return [&](const Kernel&, const Problem& problem, const RunOptions&) {
            return by_other_semantics(problem, declared, actual);
          };
        });
        ++asked;
        EXPECT_NE(verdict.word, RunVerdict::Word::pass)
            << field.name << ": declared " << field.legal[said] << ", returned " << field.legal[does];
      }
    }
  }
  EXPECT_GT(asked, 10);
}
INSTANTIATE_TEST_SUITE_P(all, OtherSemantics, testing::ValuesIn(kForwardKinds),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace flashproof
