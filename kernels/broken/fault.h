// A seeded fault: a hardened kernel with one defect, made from a diff (README.md). CPU executor only.
#pragma once

#include <span>
#include <string_view>

#include "kernels/registry.h"

namespace flashproof {

/// How strong a fault is, where that is a number.
struct Dose {
  std::string_view unit;           // empty: the fault has no dose
  double registered = 0;           // the weakest strength that its source reports
  std::span<const double> ladder;  // from the strongest to the weakest, with the registered one among them
};

struct SeededFault {
  std::string_view id;      // problem.broken.defect
  std::string_view number;  // F01 ...: kernels/broken/README.md
  std::string_view kernel;  // the hardened kernel that it is seeded in
  std::string_view defect;  // what is wrong, one line
  std::string_view source;  // the thread that reported it
  Dose dose;
  bool gross = false;  // today's habits see it (README.md)
  // Ids of causes (reports/diagnose/cause/cause.h), separated by spaces, each of which names the defect. Empty: none can.
  std::string_view cause = {};

  // The declarations of the changed file, that of `kernel` among them.
  std::span<const KernelDeclaration> (*declared)() = nullptr;
};

/// A fault built for the race shadow.
struct FaultRace {
  std::string_view id;
  std::span<const KernelDeclaration> (*declared)() = nullptr;  // as above
};

/// In the order of kernels/broken/kernels.cmake; none in a build without them (FLASHPROOF_FAULTS).
std::span<const SeededFault> seeded_faults();
/// Linked by what observes (kernels/run/observe.h) alone.
std::span<const FaultRace> fault_races();
/// Null if there is none of that id.
const SeededFault* find_fault(std::string_view id);

/// "" without a fault.
inline std::string_view defect_of(const SeededFault* fault) { return fault != nullptr ? fault->defect : ""; }

/// What the changed file declares for the kernel, under the id of the fault and as Form::broken. Throws std::logic_error if
/// it declares no such kernel.
KernelDeclaration declaration_of(const SeededFault& fault, std::span<const KernelDeclaration> declared);

}  // namespace flashproof
