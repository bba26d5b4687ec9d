// The probe's device side in a build without CUDA.
#include "kernels/probe/probe.h"
#include "reference/system/error.h"

namespace flashproof::probe {
namespace {

[[noreturn]] void refuse() { throw InfrastructureError("probe: this build has no CUDA side"); }

}  // namespace

Gpu this_gpu() { refuse(); }
ProbeCounts sweep_on_device(const Function&) { refuse(); }
std::vector<StepResult> run_steps_on_device(const Unit&, std::span<const Step>) { refuse(); }

}  // namespace flashproof::probe

namespace flashproof::special {

bool on_device(const Instruction&) { probe::refuse(); }
Comparison compare_on_device(const Instruction&, const Tables&) { probe::refuse(); }

}  // namespace flashproof::special
