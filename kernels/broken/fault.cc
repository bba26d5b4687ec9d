#include "kernels/broken/fault.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace flashproof {
const SeededFault* find_fault(std::string_view id) {
  const auto all = seeded_faults();
  const auto found = std::ranges::find(all, id, &SeededFault::id);
  return found == all.end() ? nullptr : &*found;
}

KernelDeclaration declaration_of(const SeededFault& fault, std::span<const KernelDeclaration> declared) {
  const auto found = std::ranges::find(declared, fault.kernel, &KernelDeclaration::id);
  if (found == declared.end()) {
    throw std::logic_error("fault " + std::string(fault.id) + ": its file declares no " + std::string(fault.kernel));
  }
  KernelDeclaration broken = *found;
  broken.id = fault.id;
  broken.form = Form::broken;
  return broken;
}

}  // namespace flashproof
