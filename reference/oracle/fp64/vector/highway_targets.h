// Which vector units the Highway files of the oracle are compiled for: AVX2 with FMA, and AVX-512. To be included before
// any header of Highway, in every file that computes with it.
//
// Left alone, Highway 1.0.3 takes -march=x86-64-v3 (no AES, no PCLMUL) for SSSE3, and would compile for SSSE3 and SSE4
// too, where MulAdd is not an FMA: other bits, and none of the proofs holds. Naming the baseline outright also makes
// plain x86-64 builds, and -march=native on CPUs that Highway does not know, compile the same two targets. has_fp64_tier()
// (tiers.h) must be true before any of that code runs.
//
// Such a file includes each NAME-inl.h once for every target. Those that it reaches by more than one way have Highway's guard
// (HWY_TARGET_TOGGLE); the others need none.
#pragma once

#ifdef HIGHWAY_HWY_DETECT_TARGETS_H_
#error "highway_targets.h must come before the headers of Highway"
#endif
#define HWY_BASELINE_TARGETS HWY_AVX2
#include "hwy/targets.h"

static_assert(HWY_TARGETS == (HWY_AVX2 | HWY_AVX3), "the oracle's vector code is for AVX2 and AVX-512");
