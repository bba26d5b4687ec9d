#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "kernels/backward.h"
#include "kernels/broken/fault.h"
#include "reference/problem/error.h"
#include "reports/record/read_report.h"

namespace flashproof {
namespace {

/// A kernel and the texts that its views look at.
template <class K>
struct Named {
  K kernel;
  SeededFault fault;
  std::string defect;
};

template <class K>
using Names = std::map<std::pair<std::string, Math>, Named<K>>;

/// The entry, and whether it is new.
template <class K>
std::pair<Named<K>*, bool> enter(Names<K>& names, const std::string& id, Math math, Form form,
                                 const std::string& defect) {
  const auto [at, is_new] = names.try_emplace({id, math});
  Named<K>& named = at->second;
  if (is_new) {
    named.kernel.id = at->first.first;
    named.kernel.math = math;
    named.kernel.form = form;
    named.defect = defect;
    named.fault.id = named.kernel.id;
    named.fault.defect = named.defect;
    if (form == Form::broken) named.kernel.fault = &named.fault;
  }
  return {&named, is_new};
}

void require_same(const std::string& place, const std::string& id, bool same) {
  if (!same) throw UsageError(fmt::format("{}: {} has another problem, form or defect elsewhere", place, id));
}

}  // namespace

struct KernelNames::State {
  Names<Kernel> forward;
  Names<BackwardKernel> backward;
};

KernelNames::KernelNames() : state_(std::make_unique<State>()) {}
KernelNames::~KernelNames() = default;

const Kernel& KernelNames::forward(const std::string& place, const std::string& id, Math math, ProblemKind problem,
                                   Form form, const std::string& defect) {
  const auto [named, is_new] = enter(state_->forward, id, math, form, defect);
  if (is_new) named->kernel.problem = problem;
  require_same(place, id, named->kernel.problem == problem && named->kernel.form == form && named->defect == defect);
  return named->kernel;
}

const BackwardKernel& KernelNames::backward(const std::string& place, const std::string& id, Math math, Form form,
                                            const std::string& defect) {
  const auto [named, is_new] = enter(state_->backward, id, math, form, defect);
  require_same(place, id, named->kernel.form == form && named->defect == defect);
  return named->kernel;
}

}  // namespace flashproof
