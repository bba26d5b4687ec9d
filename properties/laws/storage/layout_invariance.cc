// The same numbers with other strides give the same bits: without gaps, with the axes' order in storage reversed or drawn,
// with gaps of drawn widths, in aligned memory and not. A kernel may load 16 bytes at a time where a layout is aligned and one element where it is
// not; the arithmetic is declared without a word about layout, so the bits are the same on either path; of a kernel that does not declare itself
// deterministic the numbers, within both bounds. And what is the same all along an axis, as one bias
// for all heads, gives the same bits as one slice with a stride of 0.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/layout.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/problem/fields.h"

namespace flashproof::law::layout_invariance {
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

/// A tensor of the problem, by its place among them, and an axis of it, or two.
struct Shared {
  int tensor;
  std::vector<std::size_t> axes;
  std::string what;  // "bias along axis 1"
};

std::vector<Shared> axes_to_share(const Problem& problem) {
  std::vector<Shared> list;
  std::visit(
      [&](const auto& p) {
        int at = 0;
        for_each_tensor(p, [&](const Field& field, const Tensor& t) {
          for (std::size_t axis = 0; axis < t.shape.size() && t.elements() > 0; ++axis) {
            if (t.shape[axis] < 2) continue;
            list.push_back({at, {axis}, fmt::format("{} along axis {}", field.name, axis)});
          }
          ++at;
        });
      },
      problem);
  return list;
}

/// The first slice all along the axes: copied, or once with a stride of 0. The other slices stay in storage: what takes the tensor for a
/// dense one reads numbers of the case, and nothing beyond.
Problem with_one_slice(Problem problem, const Shared& shared, bool copied) {
  std::visit(
      [&](auto& p) {
        int at = 0;
        for_each_tensor(p, [&](const Field&, Tensor& t) {
          if (at++ != shared.tensor) return;
          for (const std::size_t axis : shared.axes) {
            if (copied) {
              t = gather(t, static_cast<int>(axis),
                         std::vector<std::int64_t>(static_cast<std::size_t>(t.shape[axis]), 0));
            } else {
              t.stride[axis] = 0;
            }
          }
        });
      },
      problem);
  return problem;
}

/// Of the axes one of a bias, which is mostly one for all heads or rows in use, both of these (a padding mask), and one of any tensor. Slopes and factors are handed over
/// dense. Of a gradient bits alone are compared: what bounds say is about the trial's own problem.
void share_axes(Trial& trial, Random& random, Comparison& tally) {
  const bool gradient = kind_of(trial.problem()) == ProblemKind::backward;
  if (gradient && !trial.contract().deterministic) return;
  const std::vector<Shared> axes = axes_to_share(trial.problem());
  std::vector<Shared> drawn, of_bias;
  std::ranges::copy_if(axes, std::back_inserter(of_bias), [](const Shared& s) { return s.what.starts_with("bias"); });
  const auto heads = std::ranges::find(of_bias, std::vector<std::size_t>{1}, &Shared::axes),
             queries = std::ranges::find(of_bias, std::vector<std::size_t>{2}, &Shared::axes);
  if (heads != of_bias.end() && queries != of_bias.end())
    drawn.push_back({heads->tensor, {1, 2}, "bias along heads and queries"});
  for (const std::span<const Shared> from : {std::span<const Shared>(of_bias), std::span<const Shared>(axes)}) {
    if (!from.empty()) drawn.push_back(from[static_cast<std::size_t>(random.integer(0, std::ssize(from) - 1))]);
  }
  for (const Shared& shared : drawn) {
    const Problem once = with_one_slice(trial.problem(), shared, false),
                  copied = with_one_slice(trial.problem(), shared, true);
    if (!tally.taken(trial.refusal(once)) || !tally.taken(trial.refusal(copied))) continue;
    const Output one = trial.run(once), many = trial.run(copied);
    const Verdict same = gradient ? same_outputs(trial, one, many) : same_answers(trial, {once, one}, {copied, many});
    // The same bits twice say nothing of a kernel whose rows cannot be compared: what decides the case are the layouts.
    if (!same.failed()) continue;
    tally.add(same, Failure::leak, ", " + shared.what + " with a stride of 0 against copies");
    return;
  }
}

Verdict relate(Trial& trial) {
  if (no_rows(trial.problem())) return vacuous("no row");
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
    if (!same) return tally.verdict("");
  }
  share_axes(trial, random, tally);
  return tally.verdict("no other layout");
}

}  // namespace

Law layout_invariance() {
  return {"the same numbers with other strides, 0 among them, give the same bits", kTeeth, relate, relate};
}

}  // namespace flashproof::law::layout_invariance
