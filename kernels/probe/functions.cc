#include "kernels/probe/functions.h"

#include <limits>

#include "kernels/simt/det_math/det_error.h"
#include "reference/bound/declare/profile.h"

namespace flashproof::probe {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kMinNormal = 0x1p-126F;

// Where e^x and 2^x are normal, of the arguments that weights have, and where they are subnormal.
constexpr float kLog2Max = 0x1.fffffep+6F;        // the last f32 below 128
constexpr float kExpMax = 0x1.62e42ep+6F;         // the last x with e^x below 2^128 − 2^104
constexpr float kExpMinNormal = -0x1.5d589ep+6F;  // the first x with e^x >= 2^-126
constexpr float kExpSubnormal = -0x1.5d58a0p+6F;  // the one before it
constexpr float kExp2Subnormal = -0x1.f80002p+6F;

constexpr Region kExp2Regions[] = {{kNormalResults, -126, kLog2Max, false, true},
                                   {"[-126, 0]", -126, 0, false, true},
                                   {kSubnormalResults, -kMax, kExp2Subnormal, false, false}};
constexpr Region kExpRegions[] = {{kNormalResults, kExpMinNormal, kExpMax, false, true},
                                  {"[-87.33, 0]", kExpMinNormal, 0, false, true},
                                  {"[-1, 0]", -1, 0, false, true},
                                  {kSubnormalResults, -kMax, kExpSubnormal, false, false}};
constexpr Region kLogRegions[] = {{kAwayFromOne, 0x1.000002p+1F, kMax, false, true},
                                  {kAroundOne, 0.5F, 2, false, false},
                                  {kBelowOne, kMinNormal, 0x1.fffffep-2F, false, true},
                                  {"[1/2, 2], relative", 0.5F, 2, false, true}};
constexpr Region kReciprocalRegions[] = {{kNormalResults, kMinNormal, 0x1p126F, true, true},
                                         {"[1, 2]", 1, 2, false, true},
                                         {kSubnormalResults, 0x1.000002p126F, kMax, true, false}};
constexpr Region kTanhRegions[] = {{kEverywhere, 0, kMax, true, false}, {"[2^-126, 20]", kMinNormal, 20, true, true}};

constexpr Function kFunctions[] = {
    {"det_exp", Truth::exp, kExpRegions, kDetExpError},
    {"det_exp2", Truth::exp2, kExp2Regions, kDetExp2Error},
    {"det_log", Truth::log, kLogRegions},
    {"det_log2", Truth::log2, kLogRegions},
    {"ex2.approx.f32", Truth::exp2, kExp2Regions},
    {kNativeExp2, Truth::exp2, kExp2Regions},
    {"exp2f", Truth::exp2, kExp2Regions},
    {"expf", Truth::exp, kExpRegions},
    {"__expf", Truth::exp, kExpRegions},
    {"lg2.approx.f32", Truth::log2, kLogRegions},
    {"lg2.approx.ftz.f32", Truth::log2, kLogRegions},
    {"log2f", Truth::log2, kLogRegions},
    {"logf", Truth::log, kLogRegions},
    {"__logf", Truth::log, kLogRegions},
    {kNativeLog, Truth::log, kLogRegions},
    {"rcp.approx.f32", Truth::reciprocal, kReciprocalRegions},
    {kNativeReciprocal, Truth::reciprocal, kReciprocalRegions},
    {"__frcp_rn", Truth::reciprocal, kReciprocalRegions},
    {"1 / x", Truth::reciprocal, kReciprocalRegions},
    {"__fdividef(1, x)", Truth::reciprocal, kReciprocalRegions},
    {"__fdividef(c, x), one c in [1, 2) per x", Truth::quotient, kReciprocalRegions},
    {kNativeTanh, Truth::tanh, kTanhRegions},
    {"tanhf", Truth::tanh, kTanhRegions},
};

}  // namespace

std::span<const Function> functions() { return kFunctions; }

}  // namespace flashproof::probe
