#include "kernels/backward.h"

#include <algorithm>
#include <vector>

#include "kernels/backward_declarations.h"  // generated: cpu_, cuda_ and cuda_native_backward_declarations()
#include "kernels/broken/fault.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

std::vector<BackwardKernel> make_kernels() {
  std::vector<BackwardKernel> list;
  for (const BackwardDeclaration& declaration : cpu_backward_declarations()) {
    list.push_back({declaration});
  }
  for (const SeededFault& fault : seeded_faults()) {
    if (fault.backward == nullptr) continue;
    list.push_back({declaration_of(fault, fault.backward())});
    list.back().fault = &fault;
  }
  std::ranges::sort(list, {}, &BackwardKernel::id);
  const auto built = [&](const BackwardDeclaration& declaration) -> BackwardKernel& {
    const auto kernel = std::ranges::lower_bound(list, declaration.id, {}, &BackwardKernel::id);
    if (kernel == list.end() || kernel->id != declaration.id) {
      throw InfrastructureError("kernel " + std::string(declaration.id) + " is built for CUDA only");
    }
    return *kernel;
  };
  for (const BackwardDeclaration& declaration : cuda_backward_declarations()) {
    BackwardKernel& kernel = built(declaration);
    kernel.has_cuda = true;
    kernel.cuda_launch = declaration.launch;
  }
  for (const BackwardDeclaration& declaration : cuda_native_backward_declarations()) {
    BackwardKernel& kernel = built(declaration);
    kernel.has_native = true;
    kernel.native_launch = declaration.launch;
  }
  return list;
}

}  // namespace

std::span<const BackwardKernel> backward_kernels() {
  static const std::vector<BackwardKernel> list = make_kernels();
  return list;
}

const BackwardKernel* find_backward_kernel(std::string_view id) {
  const auto list = backward_kernels();
  const auto kernel = std::ranges::lower_bound(list, id, {}, &BackwardKernel::id);
  return kernel != list.end() && kernel->id == id ? &*kernel : nullptr;
}

}  // namespace flashproof
