#include "reports/plugin/pieces.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace flashproof {
namespace {

/// A piece has at most so much of the whole, unless it is one case: what the last one takes is waited for.
constexpr double kShare = 1.0 / 64;

double work_of_all(const PluginTask& task, const WorkOf& work) {
  double sum = 0;
  for (const CaseSpec& spec : task.cases) sum += work(task, spec);
  return sum;
}

double most_of_a_piece(std::span<const PluginTask> tasks, const WorkOf& work) {
  double sum = 0;
  for (const PluginTask& task : tasks) sum += work_of_all(task, work);
  return std::max(kShare * sum, kSoonDone);
}

void cut(PluginTask task, const WorkOf& work, double most, std::vector<PluginTask>& pieces) {
  if (task.data != nullptr || task.cases.size() < 2) return pieces.push_back(std::move(task));
  double sum = 0;
  for (std::size_t i = 0; i < task.cases.size(); ++i) {
    const double here = work(task, task.cases[i]);
    if (i == 0 || sum + here > most) {
      PluginTask& piece = pieces.emplace_back(PluginTask{task.kernel, {}});
      if (i > 0) piece.before = task.cases[i - 1];
      sum = 0;
    }
    pieces.back().cases.push_back(task.cases[i]);
    sum += here;
  }
}

double products(const AttentionProblem& p) {
  double sum = 0;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    sum += static_cast<double>(p.q_length(s)) * static_cast<double>(p.visible_length(s));
  }
  return sum * static_cast<double>(p.q_heads() * (p.head_dim() + p.value_dim()));
}

}  // namespace

double work_of(const Problem& problem) {
  if (const AttentionProblem* attention = attention_of(problem)) return kLeastWork + products(*attention);
  const OutputShape shape = output_shape(problem);
  const auto* merge = std::get_if<MergeProblem>(&problem);
  const std::int64_t states = merge == nullptr ? 1 : merge->o.shape[0];
  return kLeastWork + static_cast<double>(states * shape.rows) * static_cast<double>(shape.width);
}

std::vector<PluginTask> in_pieces(std::vector<PluginTask> tasks, const WorkOf& work) {
  const double most = most_of_a_piece(tasks, work);
  std::vector<PluginTask> pieces;
  for (PluginTask& task : tasks) cut(std::move(task), work, most, pieces);
  return pieces;
}

std::vector<std::uint64_t> turns(std::span<const PluginTask> pieces, const WorkOf& work) {
  const double most = most_of_a_piece(pieces, work);
  std::vector<double> sizes;
  for (const PluginTask& piece : pieces) sizes.push_back(work_of_all(piece, work));
  std::vector<std::uint64_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  const auto rank = [&](std::uint64_t i) { return sizes[i] > most ? sizes[i] : 0; };
  std::ranges::stable_sort(order, [&](std::uint64_t a, std::uint64_t b) {
    const bool large = rank(a) > 0, other = rank(b) > 0;
    return large != other ? other : rank(a) > rank(b);
  });
  return order;
}

}  // namespace flashproof
