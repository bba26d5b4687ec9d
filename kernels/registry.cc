#include "kernels/registry.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kernels/broken/fault.h"
#include "kernels/declarations.h"  // generated: cpu_, cuda_ and cuda_native_declarations(), cpu_sources()
#include "kernels/simt/det_math/det_error.h"
#include "kernels/source.h"
#include "reference/system/error.h"

namespace flashproof {

// What the declarations promise of a subnormal exponential.
static_assert(kDetExpSubnormalError <= exp_underflow({}) && kDetExp2SubnormalError <= exp_underflow({}));

namespace {

std::vector<Kernel> make_kernels() {
  std::vector<Kernel> list;
  for (const KernelDeclaration& declaration : cpu_declarations()) {
    list.push_back({declaration});
  }
  for (const SeededFault& fault : seeded_faults()) {
    list.push_back({declaration_of(fault, fault.declared())});
    list.back().fault = &fault;
  }
  std::ranges::sort(list, {}, &Kernel::id);
  const auto built = [&](const KernelDeclaration& declaration) -> Kernel& {
    const auto kernel = std::ranges::lower_bound(list, declaration.id, {}, &Kernel::id);
    if (kernel == list.end() || kernel->id != declaration.id) {
      throw InfrastructureError("kernel " + std::string(declaration.id) + " is built for CUDA only");
    }
    return *kernel;
  };
  for (const KernelDeclaration& declaration : cuda_declarations()) {
    Kernel& kernel = built(declaration);
    kernel.has_cuda = true;
    kernel.cuda_launch = declaration.launch;
  }
  for (const KernelDeclaration& declaration : cuda_native_declarations()) {
    Kernel& kernel = built(declaration);
    kernel.has_native = true;
    kernel.native_launch = declaration.launch;
  }
  return list;
}

}  // namespace

std::span<const Kernel> kernels() {
  static const std::vector<Kernel> list = make_kernels();
  return list;
}

std::span<const Kernel> kernels_of(ProblemKind problem) {
  const std::string prefix = std::string(name(problem)) + ".";
  const auto same = [&](const Kernel& kernel) { return kernel.id.starts_with(prefix); };
  const auto list = kernels();
  const auto first = std::ranges::find_if(list, same);
  return {first, std::find_if_not(first, list.end(), same)};
}

std::string_view source_of(std::string_view id) {
  static const std::map<std::string_view, std::string_view> files = [] {
    std::map<std::string_view, std::string_view> map;
    for (const auto& [kernel, file] : cpu_sources()) map.emplace(kernel, file);
    return map;
  }();
  const auto file = files.find(id);
  return file == files.end() ? std::string_view() : file->second;
}

bool has_ptx(const Kernel& kernel) { return kernel.fault == nullptr && !source_of(kernel.id).empty(); }

const Kernel* find_kernel(std::string_view id) {
  const auto list = kernels();
  const auto kernel = std::ranges::lower_bound(list, id, {}, &Kernel::id);
  return kernel != list.end() && kernel->id == id ? &*kernel : nullptr;
}

}  // namespace flashproof
