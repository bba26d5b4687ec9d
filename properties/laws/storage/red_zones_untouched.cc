// A kernel writes its outputs and its workspace and nothing else: the zones around those, its inputs and the zones around
// them keep their bytes. run() looks after the outputs in every run; here the inputs, too, are copies between zones.
#include "properties/laws/law.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::red_zones_untouched {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.tail_written_whole",
                                       "attention_backward.broken.o_used_as_scratch"};

bool has_zones(const Trial& trial) { return on_cpu(trial) || trial.kernel().foreign; }

Verdict relate(Trial& trial) {
  if (!has_zones(trial)) return unsupported("only the CPU executor has zones around what a kernel may touch");
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

Law red_zones_untouched() { return {"no write beside the outputs and the workspace", kTeeth, relate, relate}; }

}  // namespace flashproof::law::red_zones_untouched
