// The same numbers with other strides give the same bits: without gaps, with the axes' order in storage reversed or drawn,
// with gaps of drawn widths, in aligned memory and not. A kernel may load 16 bytes at a time where a layout is aligned and one element where it is
// not; the arithmetic is declared without a word about layout, so the bits are the same on either path; of a kernel that does not declare itself
// deterministic the numbers, within both bounds.
#include <algorithm>
#include <numeric>

#include "properties/laws/law.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/problem/fields.h"

namespace flashproof {
namespace {

constexpr std::string_view kName = "layout_invariance";
constexpr std::string_view kTeeth[] = {"attention.broken.batch_stride_of_k",
                                       "attention_backward.broken.lse_taken_for_dense"};

enum class Layout : std::uint8_t { dense, reversed, drawn, aligned };
constexpr std::string_view kLayoutNames[] = {"without gaps", "with its axes reversed in storage",
                                             "with axes and gaps as drawn", "with gaps of 16 elements"};

Tensor laid(const Tensor& tensor, Layout layout, Random& random) {
  std::vector<int> order(tensor.shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::int64_t> room(order.size(), 0);
  switch (layout) {
    case Layout::dense:
      break;
    case Layout::reversed:
      std::ranges::reverse(order);
      break;
    case Layout::drawn:
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
      }
      for (std::int64_t& gap : room) gap = random.integer(0, 3);
      break;
    case Layout::aligned:
      room.back() = 16;
      break;
  }
  return relaid(tensor, order, room);
}

void lay_out(Problem& problem, Layout layout, Random& random) {
  std::visit([&](auto& p) { for_each_tensor(p, [&](const Field&, Tensor& t) { t = laid(t, layout, random); }); },
             problem);
}

Verdict relate(Trial& trial) {
  if (no_rows(trial.problem())) return {VerdictKind::vacuous, Failure::none, "no row"};
  Random random = trial.random(kName);
  Comparison tally;
  for (const Layout layout : {Layout::dense, Layout::reversed, Layout::drawn, Layout::aligned}) {
    Problem changed = trial.problem();
    lay_out(changed, layout, random);
    RunOptions options = trial.options();
    options.placement = layout == Layout::dense ? 0 : options.placement + static_cast<std::uint64_t>(layout);
    // As given: a second run of the same says nothing of layouts.
    if (changed == trial.problem() && options.placement == trial.options().placement) continue;
    if (!tally.taken(trial.refusal(changed))) continue;
    const bool same = tally.add(
        same_outputs(trial, trial.run(changed, options), trial.output()), Failure::leak,
        ", every input " + std::string(kLayoutNames[static_cast<int>(layout)]) + " against the layout of the case");
    if (!same) break;
  }
  return tally.verdict("no other layout");
}

}  // namespace

Law layout_invariance() {
  return {.summary = "the same numbers with other strides give the same bits",
          .relate = relate,
          .of_gradients = relate,
          .must_reject = kTeeth};
}

}  // namespace flashproof
