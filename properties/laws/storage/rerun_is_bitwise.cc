// A kernel that declares itself deterministic returns the same bits from a second run, whatever the workspace and the outputs held
// before; one that does not the same numbers, within both bounds. Sees state that is read before it is written: a split that leaves its part of the workspace alone, a sum onto an output. And
// whatever the process has run before: tensors of the same shapes with other lengths, starts, pages, window, softcap and scale. Sees what a
// kernel keeps by the shape: a plan, a table. That part asks libraries without a GPU alone, since a process with one takes long to begin.
#include <algorithm>
#include <functional>

#include "properties/laws/law.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/system/error.h"

namespace flashproof::law::rerun_is_bitwise {
namespace {

constexpr std::string_view kTeeth[] = {"attention.broken.idle_split_not_written",
                                       "attention_backward.broken.row_sum_reused"};

void shorten(std::vector<std::int32_t>& lengths) {
  for (std::int32_t& length : lengths) length -= length > 1 ? 1 : 0;
}

/// Every sequence but the first begins one token earlier, where the one before it has one.
void move_starts(std::vector<std::int32_t>& starts) {
  for (std::size_t s = 1; s + 1 < starts.size(); ++s) starts[s] -= starts[s] > starts[s - 1] ? 1 : 0;
}

void change_lists(SoftmaxProblem& p) { shorten(p.row_length); }
void change_lists(MergeProblem& p) { std::ranges::reverse(p.order); }
void change_lists(AttentionProblem& p) {
  shorten(p.key_length);
  move_starts(p.q_start);
  move_starts(p.k_start);
  for (std::size_t s = 0; s < p.key_length.size() && !p.k_start.empty(); ++s) {
    p.key_length[s] = std::min(p.key_length[s], p.k_start[s + 1] - p.k_start[s]);
  }
  std::vector<std::reference_wrapper<std::int32_t>> pages;
  for (std::int32_t& page : p.page_table) {
    if (page >= 0) pages.emplace_back(page);
  }
  for (std::size_t i = 1; i < pages.size(); ++i) std::swap(pages[i - 1].get(), pages[i].get());
  for (std::int32_t* side : {&p.window_left, &p.window_right}) *side += *side >= 0 && *side < 100 ? 1 : 0;
  p.softcap *= 2;
  p.scale /= 2;
}
void change_lists(BackwardProblem& p) { change_lists(p.forward); }

/// Tensors of the same shapes, and what else there is changed; the problem itself where that is no problem, or none that is taken.
Problem of_same_shapes(const Trial& trial) {
  Problem changed = trial.problem();
  std::visit([](auto& p) { change_lists(p); }, changed);
  try {
    validate(changed);
  } catch (const UsageError&) {
    return trial.problem();
  }
  return trial.refusal(changed).empty() ? changed : trial.problem();
}

Verdict relate(Trial& trial) {
  if (no_rows(trial.problem())) return vacuous("no row");
  Comparison tally;
  // 0x00: zeros. 0x7f: large finite f32 and bf16, NaN in f16. The first run had 0xff: NaN in every format.
  for (const std::byte fill : {std::byte{0x00}, std::byte{0x7f}}) {
    RunOptions options = trial.options();
    options.workspace_fill = fill;
    options.zeroed_outputs = fill == std::byte{0x00};
    const bool same = tally.add(same_outputs(trial, trial.run(trial.problem(), options), trial.output()),
                                Failure::nondeterministic, ", a second run against the first");
    if (!same) return tally.verdict("");
  }
  const Problem before = of_same_shapes(trial);
  if (trial.kernel().foreign && !trial.kernel().has_cuda &&
      before != trial.problem()) {  // a GPU's process takes long to begin
    RunOptions options = trial.options();
    options.new_process = true;
    trial.run(before, options);
    tally.add(same_outputs(trial, trial.run(trial.problem()), trial.output()), Failure::nondeterministic,
              ", in a process that ran other lengths, starts, pages or scalars on the same shapes before");
  }
  return tally.verdict("");
}

}  // namespace

Law rerun_is_bitwise() {
  return {.summary = "a second run returns the same bits, or numbers, whatever the workspace and the outputs held",
          .must_reject = kTeeth,
          .relate = relate,
          .of_gradients = relate,
          .promised = [](ProblemKind, const Contract& contract) { return contract.deterministic; }};
}

}  // namespace flashproof::law::rerun_is_bitwise
