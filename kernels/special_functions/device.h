// The special functions on the first CUDA device: its outputs, and where they are not the model's.
#pragma once

#include <string>
#include <vector>

#include "kernels/special_functions/golden.h"
#include "kernels/special_functions/list.h"

namespace flashproof::special {

/// Whether the instruction exists in what this program was compiled for; the 16-bit forms of bf16 need sm_90. Throws
/// InfrastructureError, as all here do, for the driver and without a device.
bool on_device(const Instruction& instruction);

/// Outputs for `count` inputs from `first` on.
std::vector<std::uint32_t> device_outputs(const Instruction& instruction, std::uint32_t first, std::uint32_t count);

/// Of a 32-bit instruction: the hash of every class.
std::vector<std::uint64_t> device_classes(const Instruction& instruction);

struct Comparison {
  std::uint64_t inputs = 0, differ = 0;
  std::uint32_t first = 0, device = 0, model = 0;  // the first that differs, and both outputs; of differ > 0
};
/// All inputs; the model, too, is evaluated on the device.
Comparison compare_on_device(const Instruction& instruction, const Tables& tables);

/// "0 of 4294967296 differ", or with the first one.
std::string describe(const Comparison& comparison);

}  // namespace flashproof::special
