#include "kernels/registry.h"

#include <algorithm>
#include <vector>

#include "kernels/declarations.h"  // generated: cpu_, cuda_ and cuda_native_declarations()
#include "kernels/simt/det_error.h"
#include "reference/problem/error.h"

namespace flashproof {

// What the declarations promise of a subnormal exponential.
static_assert(kDetExpSubnormalError <= exp_underflow({}) && kDetExp2SubnormalError <= exp_underflow({}));

std::string_view name(Form form) {
  constexpr std::string_view kNames[] = {"published", "hardened", "broken"};
  return kNames[static_cast<int>(form)];
}

std::string_view name(Executor executor) { return executor == Executor::cpu ? "cpu" : "cuda"; }

std::string_view name(Math math) { return math == Math::det ? "det" : "native"; }

bool Kernel::supports(Format format) const { return std::ranges::find(formats, format) != formats.end(); }

namespace {

std::vector<Kernel> make_kernels() {
  std::vector<Kernel> list;
  for (const KernelDeclaration& declaration : cpu_declarations()) {
    list.push_back({declaration});
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

const Kernel* find_kernel(std::string_view id) {
  const auto list = kernels();
  const auto kernel = std::ranges::lower_bound(list, id, {}, &Kernel::id);
  return kernel != list.end() && kernel->id == id ? &*kernel : nullptr;
}

}  // namespace flashproof
