// A kernel writes its outputs and its workspace and nothing else: the zones around those, its inputs and the zones around
// them keep their bytes. run() looks after the outputs in every run; here the inputs, too, are copies between zones.
#include "properties/laws/list.h"

namespace flashproof {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.tail_written_whole"};

Verdict relate(Trial& trial) {
  if (trial.options().executor != Executor::cpu && !trial.kernel().foreign) {
    return {VerdictKind::unsupported, Failure::none, "only the CPU executor has zones around what a kernel may touch"};
  }
  RunOptions options = trial.options();
  options.guard_inputs = true;
  try {
    trial.run(trial.problem(), options);
  } catch (const KernelFault& fault) {
    return {VerdictKind::fail, Failure::error, fault.what()};
  }
  return {};
}

}  // namespace

Law red_zones_untouched() {
  return {.name = "red_zones_untouched",
          .summary = "no write beside the outputs and the workspace",
          .relate = relate,
          .must_reject = kTeeth};
}

}  // namespace flashproof
