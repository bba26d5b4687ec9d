// A kernel that declares itself deterministic returns the same bits from a second run, whatever the workspace held before.
// Sees state that is read before it is written: a split that leaves its part of the workspace alone.
#include "properties/laws/compare.h"
#include "properties/laws/list.h"

namespace flashproof {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.idle_split_not_written"};

Verdict relate(Trial& trial) {
  if (!trial.contract().deterministic) {
    return {VerdictKind::unsupported, Failure::none, "the kernel does not declare itself deterministic"};
  }
  // 0x00: zeros. 0x7f: large finite f32 and bf16, NaN in f16. The first run had 0xff: NaN in every format.
  for (const std::byte fill : {std::byte{0x00}, std::byte{0x7f}}) {
    RunOptions options = trial.options();
    options.workspace_fill = fill;
    const std::string difference = first_difference(trial.run(trial.problem(), options), trial.output());
    if (!difference.empty()) {
      return {VerdictKind::fail, Failure::nondeterministic, difference + ", a second run against the first"};
    }
  }
  return {};
}

}  // namespace

Law rerun_is_bitwise() {
  return {.name = "rerun_is_bitwise",
          .summary = "a second run returns the same bits, whatever the workspace held",
          .relate = relate,
          .must_reject = kTeeth};
}

}  // namespace flashproof
