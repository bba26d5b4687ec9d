#include "reports/diagnose/origin.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kernels/run/run.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// How many columns, keys or states there are to shorten; 0: of this form none can be taken away.
std::int64_t length_of(const Problem& problem) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) return softmax->x.shape[1];
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) return merge->joins.empty() ? merge->o.shape[0] : 0;
  const AttentionProblem& attention = *attention_of(problem);
  return attention.paged() ? 0 : attention.k_length();
}

void cut(std::vector<std::int32_t>& lengths, std::int64_t rows, std::int64_t full, std::int64_t length) {
  if (lengths.empty()) lengths.assign(static_cast<std::size_t>(rows), static_cast<std::int32_t>(full));
  for (std::int32_t& l : lengths) l = std::min(l, static_cast<std::int32_t>(length));
}

/// The states order[0..length) of a fold, in that order.
MergeProblem first_states(const MergeProblem& p, std::int64_t length) {
  MergeProblem part = p;
  const auto taken = [&](const Tensor& from) {
    if (from.shape.empty()) return Tensor{};
    std::vector<std::int64_t> shape = from.shape;
    shape[0] = length;
    Tensor to = Tensor::dense(from.format, shape);
    const std::int64_t columns = shape.size() == 3 ? shape[2] : 1;
    for (std::int64_t c = 0; c < length; ++c) {
      for (std::int64_t at = 0; at < shape[1] * columns; ++at) {
        const std::int64_t state = p.order[static_cast<std::size_t>(c)], r = at / columns, j = at % columns;
        const std::int64_t source = shape.size() == 3 ? from.offset({state, r, j}) : from.offset({state, r});
        to.set_bits(c * shape[1] * columns + at, from.bits(source));
      }
    }
    return to;
  };
  part.o = taken(p.o);
  part.lse = taken(p.lse);
  part.l = taken(p.l);
  part.order.resize(static_cast<std::size_t>(length));
  for (std::int64_t c = 0; c < length; ++c) part.order[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(c);
  return part;
}

Problem shortened(const Problem& problem, std::int64_t length) {
  Problem part = problem;
  if (auto* softmax = std::get_if<SoftmaxProblem>(&part)) {
    cut(softmax->row_length, softmax->x.shape[0], softmax->x.shape[1], length);
  } else if (auto* attention = const_cast<AttentionProblem*>(attention_of(part))) {
    cut(attention->key_length, attention->sequences(), attention->k_length(), length);
  } else {
    part = first_states(std::get<MergeProblem>(problem), length);
  }
  return part;
}

std::string what_is_last(const Problem& problem, const Element& e, std::int64_t last) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&problem)) {
    return fmt::format("column {}, x = {}", last, long_number(softmax->x.at({e.row, last})));
  }
  if (const auto* merge = std::get_if<MergeProblem>(&problem)) {
    const std::int64_t state = merge->order[static_cast<std::size_t>(last)];
    return fmt::format("state {}, lse = {}", state, long_number(merge->lse.at({state, e.row})));
  }
  const AttentionProblem& p = *attention_of(problem);
  if (p.packed()) return fmt::format("key {}", last);
  const std::int64_t i = e.row % p.q_length(), h = e.row / p.q_length() % p.q_heads();
  const std::int64_t s = e.row / p.q_length() / p.q_heads();
  const bool hidden =
      !p.position_visible(s, i, last) || (p.has_bias() && class_of(p.bias.at({s, h, i, last})) == kNegInf);
  return fmt::format("key {}{}", last, hidden ? ", which this row does not see" : "");
}

}  // namespace

std::string origin_of(const Evaluation& evaluation, const Element& e, Executor executor) {
  const Problem& problem = evaluation.subject.problem;
  if (e.part == Part::dk || e.part == Part::dv) {
    return "not looked for: this element sums over queries, and no length takes queries away";
  }
  const std::int64_t all = length_of(problem);
  RunOptions options;
  options.executor = executor;
  const auto is_number = [&](std::int64_t length) -> std::optional<bool> {
    const Problem part = shortened(problem, length);
    if (!evaluation.kernel.unsupported(part).empty()) return std::nullopt;
    try {
      const Output output = run(evaluation.kernel, part, options);
      const Tensor& tensor = output[e.part];
      const std::int64_t width = e.part == Part::lse ? 1 : output_shape(part, e.part).back();
      // lse = -inf of a row that has nothing yet is the right answer, not the NaN or inf that is looked for.
      const double value = decode(tensor.format, tensor.bits(e.row * width + e.column));
      const bool empty = e.part == Part::lse && class_of(value) == kNegInf && class_of(e.computed) != kNegInf;
      return class_of(value) == kFinite || empty;
    } catch (const UsageError&) {
    } catch (const simt::Fault&) {
    } catch (const KernelFault&) {
    }
    return std::nullopt;
  };
  const std::int64_t least = std::holds_alternative<MergeProblem>(problem) ? 1 : 0;  // a merge has at least one state
  const bool concat =
      std::holds_alternative<MergeProblem>(problem) && std::get<MergeProblem>(problem).form == MergeForm::concat;
  if (all <= least || concat) return "";
  const auto first = is_number(least), whole = is_number(all);
  if (!first || !whole || *whole) return "";
  if (!*first)
    return fmt::format("it is there already when {}", least == 0 ? "the row sees nothing" : "there is one state");
  std::int64_t good = least, bad = all;  // a number with `good` of them, none with `bad`
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    const auto number = is_number(middle);
    if (!number) return "";
    (*number ? good : bad) = middle;
  }
  return fmt::format("with the first {} of {} it is a number, with one more not: {}", good, all,
                     what_is_last(problem, e, good));
}

}  // namespace flashproof
