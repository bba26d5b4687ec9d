// What a kernel says of itself; registry.cc has the list of them.
#include <algorithm>

#include "kernels/registry.h"

namespace flashproof {

std::string_view name(Form form) {
  constexpr std::string_view kNames[] = {"published", "hardened", "broken"};
  return kNames[static_cast<int>(form)];
}

std::string_view name(Executor executor) {
  constexpr std::string_view kNames[] = {"cpu", "cuda", "ptx"};
  return kNames[static_cast<std::size_t>(executor)];
}

std::string_view name(Math math) { return math == Math::det ? "det" : "native"; }

bool Kernel::supports(Format format) const { return std::ranges::find(formats, format) != formats.end(); }

std::vector<BackwardArithmetic> Kernel::backward_for(Format format) const {
  if (!backward_one_of.empty()) return backward_one_of;
  BackwardArithmetic result = backward;
  if (weights_as_stored) result.p = result.ds = format;
  return {result};
}

}  // namespace flashproof
