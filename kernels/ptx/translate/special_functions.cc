#include "kernels/ptx/translate/special_functions.h"

#include <algorithm>

#include "kernels/special_functions/instructions.h"

namespace flashproof::ptx {
namespace {

template <std::uint32_t (*kModel)(const special::Tables&, std::uint32_t)>
void of_lanes(const std::uint32_t* x, std::uint32_t* y) {
  for (int lane = 0; lane < 32; ++lane) y[lane] = kModel(special::kSm90, x[lane]);
}

constexpr SpecialFunction kFunctions[] = {
#define FP_ROW(type, ptx, function) {ptx, "ptx_special_" #type, of_lanes<special::function>},
    FP_SPECIAL_F32(FP_ROW)
#undef FP_ROW
};

}  // namespace

std::span<const SpecialFunction> special_functions() { return kFunctions; }

const SpecialFunction* special_function(std::string_view form) {
  const auto* found = std::ranges::find(kFunctions, form, &SpecialFunction::form);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace flashproof::ptx
