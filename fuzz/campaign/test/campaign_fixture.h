// A campaign on the fake target in a folder of its own, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/corpus.h"
#include "fuzz/campaign/folder.h"
#include "reference/system/error.h"
#include "reference/system/test/temporary_folder.h"

namespace flashproof {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

inline void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

class CampaignTest : public testing::Test {
 protected:
  CampaignTest() { out.root = folder / "out"; }

  CampaignOptions options(const std::string& kernel, double seconds = 0.8) const {
    CampaignOptions o;
    o.target = "fake";
    o.kernels = {kernel};
    o.formats = {"f32"};
    o.jobs = 1;
    o.seconds = seconds;
    o.out = out.root;
    o.targets = FLASHPROOF_FAKE_TARGETS;
    o.seeds = folder / "seeds";
    return o;
  }
  /// Runs it here; returns the exit code, or what it threw as "usage: ..." or "infrastructure: ...".
  std::string run(const CampaignOptions& o, const Machine& machine) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    std::string result;
    try {
      result = std::to_string(run_campaign(o, machine));
    } catch (const UsageError& e) {
      result = std::string("usage: ") + e.what();
    } catch (const InfrastructureError& e) {
      result = std::string("infrastructure: ") + e.what();
    }
    std::fflush(nullptr);
    said = testing::internal::GetCapturedStdout();
    complained = testing::internal::GetCapturedStderr();
    return result;
  }
  std::string run(const CampaignOptions& o) { return run(o, quiet_machine()); }

  /// This machine without what a scheduler may have set around the test.
  static Machine quiet_machine() {
    Machine machine = this_machine();
    machine.environment = [](const char*) { return std::nullopt; };
    machine.stop_requested = [] { return false; };
    return machine;
  }
  Archive archive() const { return {out.archive(), Archive::Open::read_only}; }
  std::uint64_t executions() const {
    std::uint64_t sum = 0;
    for (const auto& one : archive().runs()) sum += one.executions;
    return sum;
  }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  CampaignFolder out;
  std::string said, complained;
};

}  // namespace flashproof
