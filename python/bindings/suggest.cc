#include "python/bindings/suggest.h"

#include <nanobind/stl/string.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "properties/laws/law.h"
#include "python/bindings/check.h"
#include "reference/problem/error.h"
#include "reports/suggest/suggest.h"

namespace nb = nanobind;

namespace flashproof::python {
namespace {

constexpr std::uint64_t kDrawsPerCase = 12;

/// Of every family the first cases that the callable takes.
std::vector<Case> drawn_cases(const Kernel& kernel, const SuggestRequest& request) {
  std::vector<Case> cases;
  for (const Family* family : families_named(kernel.problem, request.families)) {
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < kDrawsPerCase * request.cases && taken < request.cases; ++i) {
      CaseSpec spec{kernel.problem,
                    std::string(family->name),
                    request.seed + i,
                    {{"format", std::string(info(kernel.formats[0]).name)}}};
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
  InProcess(CallableKernel& kernel, const nb::object& progress) : kernel_(kernel), progress_(progress) {}

  std::vector<std::vector<CaseSaid>> operator()(std::span<const Kernel> candidates, std::span<const Case> cases) {
    std::vector<std::vector<CaseSaid>> said;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      std::vector<CaseSaid>& of = said.emplace_back();
      for (const Case& one : cases) {
        if (kernel_.interrupted()) throw Interrupted("the search was ended from Python");
        of.push_back(ask_case(candidates[c], one));
      }
      tell(c + 1, candidates.size());
    }
    return said;
  }

 private:
  void tell(std::uint64_t done, std::uint64_t total) {
    if (progress_.is_none()) return;
    const nb::gil_scoped_acquire lock;
    try {
      progress_(done, total, "declarations");
    } catch (const nb::python_error& raised) {
      if (raised.matches(PyExc_KeyboardInterrupt)) kernel_.interrupt(raised);
    }
  }

  CallableKernel& kernel_;
  const nb::object& progress_;
};

std::string json_of(const Suggestion& s, const std::string& heading) {
  using Json = nlohmann::ordered_json;
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
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string suggest(CallableDeclaration declaration, const SuggestRequest& request) {
  CallableKernel kernel(std::move(declaration));
  std::string text;
  std::exception_ptr failed;
  {
    const nb::gil_scoped_release unlocked;
    try {
      const Kernel asked{kernel.declaration()};
      text = json_of(flashproof::suggest(asked, drawn_cases(asked, request), InProcess(kernel, request.progress)),
                     std::string(asked.id));
    } catch (...) {
      failed = std::current_exception();
    }
  }
  kernel.rethrow_interrupt();
  if (kernel.ctrl_c()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  if (failed) std::rethrow_exception(failed);
  return text;
}

}  // namespace flashproof::python
