#include "kernels/simt/native_math.h"

#include <bit>

#include "kernels/simt/det_math/det_coefficients.h"
#include "kernels/special_functions/units.h"

namespace flashproof::simt {

constinit bool native_math = false;

namespace {

template <std::uint32_t (*kUnit)(const special::Tables&, std::uint32_t)>
float call(float x) {
  return std::bit_cast<float>(kUnit(special::kSm90, std::bit_cast<std::uint32_t>(x)));
}

}  // namespace

float native_exp2(float x) { return call<special::unit_ex2>(x); }
float native_exp(float x) { return native_exp2(x * ExpCoefficients::log2_e); }
float native_log(float x) { return call<special::unit_lg2>(x) * 0x1.62e430p-1F; }
float native_reciprocal(float x) { return call<special::unit_rcp>(x); }
float native_tanh(float x) { return call<special::unit_tanh>(x); }

}  // namespace flashproof::simt
