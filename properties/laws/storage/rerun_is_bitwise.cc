// A kernel that declares itself deterministic returns the same bits from a second run, whatever the workspace held before.
// Sees state that is read before it is written: a split that leaves its part of the workspace alone.
#include "properties/laws/law.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.idle_split_not_written",
                                       "attention_backward.broken.row_sum_reused"};

Verdict relate(Trial& trial) {
  if (std::string why = not_comparable(trial); !why.empty()) return unsupported(std::move(why));
  Comparison tally;
  // 0x00: zeros. 0x7f: large finite f32 and bf16, NaN in f16. The first run had 0xff: NaN in every format.
  for (const std::byte fill : {std::byte{0x00}, std::byte{0x7f}}) {
    RunOptions options = trial.options();
    options.workspace_fill = fill;
    const bool same = tally.add(same_outputs(trial, trial.run(trial.problem(), options), trial.output()),
                                Failure::nondeterministic, ", a second run against the first");
    if (!same) break;
  }
  return tally.verdict("");
}

}  // namespace

Law rerun_is_bitwise() {
  return {.summary = "a second run returns the same bits, whatever the workspace held",
          .relate = relate,
          .of_gradients = relate,
          .promised = [](const Contract& contract) { return contract.deterministic; },
          .must_reject = kTeeth};
}

}  // namespace flashproof
