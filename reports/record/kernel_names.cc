#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "kernels/broken/fault.h"
#include "kernels/registry.h"
#include "reference/system/error.h"
#include "reports/record/read_report.h"

namespace flashproof {
namespace {

/// A kernel and the texts that its views look at.
struct Named {
  Kernel kernel;
  SeededFault fault;
  std::string defect;
};

using Names = std::map<std::pair<std::string, Math>, Named>;

}  // namespace

struct KernelNames::State {
  Names names;
};

KernelNames::KernelNames() : state_(std::make_unique<State>()) {}
KernelNames::~KernelNames() = default;

const Kernel& KernelNames::kernel(const std::string& place, const std::string& id, Math math, ProblemKind problem,
                                  Form form, const std::string& defect) {
  const auto [at, is_new] = state_->names.try_emplace({id, math});
  Named& named = at->second;
  if (is_new) {
    named.kernel.id = at->first.first;
    named.kernel.problem = problem;
    named.kernel.math = math;
    named.kernel.form = form;
    named.defect = defect;
    named.fault.id = named.kernel.id;
    named.fault.defect = named.defect;
    if (form == Form::broken) named.kernel.fault = &named.fault;
  }
  if (named.kernel.problem != problem || named.kernel.form != form || named.defect != defect) {
    throw UsageError(fmt::format("{}: {} has another problem, form or defect elsewhere", place, id));
  }
  return named.kernel;
}

}  // namespace flashproof
