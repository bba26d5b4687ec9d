// Test helper: RapidCheck draws a random seed unless RC_PARAMS says otherwise. Include this once per test program and
// every run is the same run; RC_PARAMS set by hand (to reproduce, to search longer) still wins.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

namespace flashproof {

class RapidcheckSeed : public ::testing::Environment {
 public:
  void SetUp() override { setenv("RC_PARAMS", "seed=20240607 max_success=500", /*overwrite=*/0); }
};

inline const auto* const kRapidcheckSeed = ::testing::AddGlobalTestEnvironment(new RapidcheckSeed);

}  // namespace flashproof
