// Descriptions of which tests draw cases.
#pragma once

#include <string>

#include "kernels/plugin.h"
#include "kernels/plugin/description.h"
#include "reports/plugin/draw.h"

namespace flashproof {

/// A description of one feature, with sizes that few families draw.
struct Taken {
  ProblemKind problem;
  std::string takes, more;
};

inline Described described_as(const Taken& taken) {
  return describe({std::string(name(taken.problem)) + ".row.mine", static_cast<int>(taken.problem), FLASHPROOF_CPU,
                   R"({"formats": ["f16"], "takes": [)" + taken.takes + "]" + taken.more + "}"});
}

inline Kernel kernel_of(const Described& described) {
  Kernel kernel;
  kernel.id = described.id;
  kernel.problem = described.problem;
  kernel.formats = described.formats;
  kernel.contract = described.contract;
  if (!described.arithmetic.empty()) kernel.arithmetic = described.arithmetic.front();  // a gradient has its own
  kernel.unsupported = described.refusal;
  return kernel;
}

}  // namespace flashproof
