// The other side of adversaries_test.cc: kernels that are right get a pass, so the rules are not too harsh. The model runs what
// every preset declares, and the hardened kernels of this project what they declare themselves.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/backward/bound.h"
#include "reference/model/backward_model.h"
#include "reference/model/model.h"
#include "reports/plugin/test/adversary_declarations.h"
#include "reports/plugin/test/adversary_run.h"

namespace flashproof {
namespace {

std::vector<const Law*> judging() {
  std::vector<const Law*> list;
  for (const Law& law : judging_laws()) list.push_back(&law);
  return list;
}

std::string text(const RunVerdict& verdict) {
  return std::string(name(verdict.word)) + " by " + verdict.cause + ": " + verdict.detail;
}

bool may_be(const Kernel& kernel, const RunVerdict& verdict) {
  // A kernel that takes nothing but pages is asked four families of 49: undecided until the families are chosen by name.
  return verdict.word == RunVerdict::Word::pass ||
         (kernel.id.find("paged") != std::string_view::npos && verdict.cause == "taken");
}

class Honest : public testing::TestWithParam<Format> {};

TEST_P(Honest, every_alternative_of_every_preset_passes_as_the_model_runs_it) {
  const std::vector<const Law*> laws = judging();
  for (const ProblemKind problem : kForwardKinds) {
    CasePool pool(problem, GetParam(), 0);
    for (const AdversaryDeclaration& declaration : adversary_declarations(problem, GetParam(), 0, 0)) {
      if (declaration.group != "preset") continue;
      const DeclaredKernel declared(declaration);
      const Kernel& kernel = declared.kernel();
      const auto families = pool.taken(kernel, 1);
      for (std::size_t i = 0; i < alternatives(kernel.arithmetic, problem).size(); ++i) {
        const RunVerdict verdict = check_in_process(kernel, families, laws, [&](AdversaryCase&) -> Runner {
          return [i](const Kernel& k, const Problem& p, const RunOptions&) {
            const auto list = alternatives_in_place(k.arithmetic, p);
            return run_model(p, list[i] ? *list[i] : alternatives(k.arithmetic, p).front());
          };
        });
        // Ring attention's update overflows where the new lse is far above: published as such, and a failure.
        const bool overflows = alternatives(kernel.arithmetic, problem)[i].merge_weights == MergeWeights::running;
        EXPECT_EQ(verdict.word, overflows ? RunVerdict::Word::fail : RunVerdict::Word::pass)
            << declaration.json << ", alternative " << i << ": " << text(verdict);
      }
    }
  }
}

TEST_P(Honest, every_gradient_of_every_preset_passes_as_the_model_runs_it) {
  const std::vector<const Law*> laws = judging();
  CasePool pool(ProblemKind::backward, GetParam(), 0);
  for (const AdversaryDeclaration& declaration : adversary_declarations(ProblemKind::backward, GetParam(), 0, 0)) {
    if (declaration.group != "preset") continue;
    const DeclaredKernel declared(declaration);
    const Kernel& kernel = declared.kernel();
    const auto families = pool.taken(kernel, 1);
    for (std::size_t i = 0; i < kernel.backward_one_of.size(); ++i) {
      const RunVerdict verdict = check_in_process(kernel, families, laws, [&](AdversaryCase&) -> Runner {
        return [i](const Kernel& k, const Problem& p, const RunOptions&) {
          const auto& problem = std::get<BackwardProblem>(p);
          std::vector<BackwardArithmetic> list = k.backward_one_of;
          if (!backward_refused(problem.forward, list[i]).empty()) {  // this one has no meaning for the case
            std::erase_if(list, [&](const auto& one) { return !backward_refused(problem.forward, one).empty(); });
            return store_gradients(problem, run_backward_model(problem, list.front()));
          }
          return store_gradients(problem, run_backward_model(problem, list[i]));
        };
      });
      EXPECT_EQ(verdict.word, RunVerdict::Word::pass) << declaration.json << ", " << i << ": " << text(verdict);
    }
  }
}

TEST_P(Honest, every_hardened_kernel_passes_by_its_own_declaration) {
  const std::vector<const Law*> laws = judging();
  for (const ProblemKind problem : kProblemKinds) {
    CasePool pool(problem, GetParam(), 0);
    for (const Kernel& kernel : kernels()) {
      if (kernel.form != Form::hardened || kernel.problem != problem || !kernel.supports(GetParam())) continue;
      const RunVerdict verdict = check_in_process(kernel, pool.taken(kernel, 1), laws,
                                                  [](AdversaryCase&) -> Runner { return Trial::run_kernel; });
      EXPECT_TRUE(may_be(kernel, verdict)) << kernel.id << ": " << text(verdict);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(all, Honest, testing::ValuesIn(kStorageFormats),
                         [](const auto& format) { return std::string(flashproof::info(format.param).name); });

}  // namespace
}  // namespace flashproof
