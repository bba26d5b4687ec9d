#include "kernels/ptx/translate/special_functions.h"

#include <algorithm>

#include "kernels/ptx/translate/context.h"
#include "kernels/special_functions/division.h"
#include "kernels/special_functions/instructions.h"

namespace flashproof::ptx {
namespace {

template <class Word, Word (*kModel)(const special::Tables&, Word)>
void of_lanes(const void* operands, void* result) {
  const auto* x = static_cast<const Word*>(operands);
  for (int lane = 0; lane < kLanes; ++lane) static_cast<Word*>(result)[lane] = kModel(special::kSm90, x[lane]);
}

template <std::uint32_t (*kModel)(const special::Tables&, std::uint32_t, std::uint32_t)>
void of_pairs(const void* operands, void* result) {
  const auto* x = static_cast<const std::uint32_t*>(operands);
  for (int lane = 0; lane < kLanes; ++lane)
    static_cast<std::uint32_t*>(result)[lane] = kModel(special::kSm90, x[lane], x[kLanes + lane]);
}

using namespace special;  // NOLINT(google-build-using-namespace): the lists name functions of it

constexpr SpecialFunction kFunctions[] = {
#define FP_ROW_32(type, ptx, function) {ptx, "ptx_special_" #type, of_lanes<std::uint32_t, function>},
#define FP_ROW_16(type, ptx, function) {ptx, "ptx_special_" #type, of_lanes<std::uint16_t, function>},
#define FP_ROW_PAIR(type, ptx, function) {ptx, "ptx_special_" #type, of_pairs<function>},
    FP_SPECIAL_F32(FP_ROW_32) FP_SPECIAL_QUOTIENTS(FP_ROW_PAIR) FP_SPECIAL_16(FP_ROW_16) FP_SPECIAL_16_SM_90(FP_ROW_16)
        FP_SPECIAL_PACKED(FP_ROW_32) FP_SPECIAL_PACKED_SM_90(FP_ROW_32)
#undef FP_ROW_32
#undef FP_ROW_16
#undef FP_ROW_PAIR
};

}  // namespace

std::span<const SpecialFunction> special_functions() { return kFunctions; }

const SpecialFunction* special_function(std::string_view form) {
  const auto* found = std::ranges::find(kFunctions, form, &SpecialFunction::form);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace flashproof::ptx
