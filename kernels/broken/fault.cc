#include "kernels/broken/fault.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace flashproof {
namespace {

template <class Declaration>
Declaration renamed(const SeededFault& fault, std::span<const Declaration> declared) {
  const auto found = std::ranges::find(declared, fault.kernel, &Declaration::id);
  if (found == declared.end()) {
    throw std::logic_error("fault " + std::string(fault.id) + ": its file declares no " + std::string(fault.kernel));
  }
  Declaration broken = *found;
  broken.id = fault.id;
  broken.form = Form::broken;
  return broken;
}

}  // namespace

const SeededFault* find_fault(std::string_view id) {
  const auto all = seeded_faults();
  const auto found = std::ranges::find(all, id, &SeededFault::id);
  return found == all.end() ? nullptr : &*found;
}

KernelDeclaration declaration_of(const SeededFault& fault, std::span<const KernelDeclaration> declared) {
  return renamed(fault, declared);
}

BackwardDeclaration declaration_of(const SeededFault& fault, std::span<const BackwardDeclaration> declared) {
  return renamed(fault, declared);
}

}  // namespace flashproof
