#include "python/bindings/suggest.h"

#include <string>
#include <utility>
#include <vector>

#include "properties/laws/law.h"
#include "python/bindings/callable_kernel.h"
#include "python/bindings/check.h"
#include "python/bindings/values.h"
#include "reference/system/error.h"
#include "reports/suggest/suggest.h"

namespace flashproof::python {
namespace {

constexpr std::uint64_t kDrawsPerCase = 12;

/// Of every family the first cases that the callable takes.
std::vector<Case> drawn_cases(const Kernel& kernel, CallableKernel& callable, const Json& request) {
  const auto seed = value<std::uint64_t>(request, "seed"), most = value<std::uint64_t>(request, "cases");
  std::vector<Case> cases;
  for (const Family* family : families_named(kernel.problem, value<std::vector<std::string>>(request, "families"))) {
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < kDrawsPerCase * most && taken < most; ++i) {
      if (callable.interrupted()) throw Interrupted("the search was ended from Python");
      CaseSpec spec{
          kernel.problem, std::string(family->name), seed + i, {{"format", std::string(info(kernel.formats[0]).name)}}};
      try {
        Case one = make_case(spec);
        if (!Trial(kernel, one).refusal(one.problem).empty()) continue;
        cases.push_back(std::move(one));
        ++taken;
      } catch (const UsageError&) {  // the family has no such case
      }
    }
  }
  return cases;
}

/// AskCases in this process. Another thread's interpreter runs between the calls.
class InProcess {
 public:
  explicit InProcess(CallableKernel& kernel) : kernel_(kernel) {}

  std::vector<std::vector<CaseSaid>> operator()(std::span<const Kernel> candidates, std::span<const Case> cases,
                                                AskedLaws laws) {
    std::vector<std::vector<CaseSaid>> said;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      std::vector<CaseSaid>& of = said.emplace_back();
      for (const Case& one : cases) {
        if (kernel_.interrupted()) throw Interrupted("the search was ended from Python");
        of.push_back(ask_case(candidates[c], one, laws));
      }
      kernel_.show_progress(c + 1, candidates.size(), "declarations");
    }
    return said;
  }

 private:
  CallableKernel& kernel_;
};

Json json_of(const Suggestion& s, const std::string& heading) {
  Json root{{"found", s.found},
            {"semantics", Json::parse(s.semantics.empty() ? "{}" : s.semantics)},
            {"arithmetic", Json::parse(s.arithmetic.empty() ? "\"unknown\"" : s.arithmetic)},
            {"alternative", s.alternative},
            {"cases", s.cases},
            {"unexplained", Json::array()},
            {"notes", s.notes},
            {"undecided", s.undecided},
            {"text", suggestion_text(s, heading, "")}};
  for (const auto& [spec, verdict] : s.unexplained) {
    root["unexplained"].push_back(
        {{"case", to_string(spec)}, {"failure", name(verdict.failure)}, {"message", verdict.detail}});
  }
  return root;
}

}  // namespace

void suggest(const Json& request, const Python& python) {
  CallableKernel kernel(request, python);
  const Kernel asked{kernel.declaration()};
  const Suggestion found = flashproof::suggest(asked, drawn_cases(asked, kernel, request), InProcess(kernel));
  python.answer(json_of(found, std::string(asked.id)));
}

}  // namespace flashproof::python
