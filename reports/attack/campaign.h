// Searches of many kernels and formats on worker processes, going on from a ledger.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "reports/ledger/ledger.h"

namespace flashproof {

struct AttackTarget {
  const Kernel* kernel = nullptr;
  Format format = Format::f32;
};

struct AttackOptions {
  double seconds = 60;  // of the whole campaign; 0: only what the ledger has is measured again
  int jobs = 1;
  std::uint64_t seed = 0;
  std::filesystem::path out = "out";  // witnesses of violations go below it, in attack/
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};  // slices of a few seconds
};

/// A finite result outside its bound, a bound that is no number, or a kernel that crashed.
struct AttackFinding {
  AttackTarget target;
  std::string what;
  std::string witness;  // path; empty if there is no case to show
};

struct AttackResult {
  Ledger found;  // of every target, without history
  std::vector<AttackFinding> findings;
  std::uint64_t evaluations = 0;
  bool partial = false;
  std::string failure;  // as in SweepResult
};

AttackResult attack(const std::vector<AttackTarget>& targets, const Ledger& known, const AttackOptions& options);

}  // namespace flashproof
