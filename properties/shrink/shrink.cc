#include "properties/shrink/shrink.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "properties/generators/backward_case.h"
#include "properties/laws/support/change.h"
#include "properties/shrink/tensors.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

void add_tensor(Complexity& sum, std::set<std::uint64_t>& distinct, const Tensor& tensor) {
  if (tensor.shape.empty()) return;
  sum.elements += tensor.storage.size() / static_cast<std::size_t>(bytes_of(tensor.format));
  for_each_offset(tensor, [&](std::int64_t offset) {
    const double x = decode(tensor.format, tensor.bits(offset));
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    distinct.insert(bits);
    if (std::isfinite(x)) sum.significant += static_cast<std::uint64_t>(std::popcount(bits << 12));
    sum.nonzero += x != 0 ? 1 : 0;
    if (std::isfinite(x) && x != 0) sum.exponents += static_cast<std::uint64_t>(std::abs(std::ilogb(x)));
  });
}

std::uint64_t disorder(const ChunkPlan& plan) {
  std::uint64_t moved = 0;
  for (int n = 0; n < plan.chunks(); ++n) moved += plan.order[static_cast<std::size_t>(n)] != n ? 1 : 0;
  return moved + static_cast<std::uint64_t>(plan.chunks());
}

std::uint64_t structure_of(const SoftmaxProblem& p) { return disorder(p.plan) + (p.row_length.empty() ? 0 : 1); }

std::uint64_t structure_of(const MergeProblem& p) {
  std::uint64_t moved = 0;
  for (std::size_t n = 0; n < p.order.size(); ++n) moved += p.order[n] != static_cast<std::int32_t>(n) ? 1 : 0;
  return moved + p.joins.size() + (p.form == MergeForm::concat ? 1 : 0) + p.features().size();
}

std::uint64_t structure_of(const AttentionProblem& p) {
  return disorder(p.plan) + 2 * p.features().size() + (p.causal ? 1 : 0) + (p.key_length.empty() ? 0 : 1) +
         (p.has_bias() ? 1 : 0) + (p.scale != 1.0F ? 1 : 0);
}

std::uint64_t structure_of(const BackwardProblem& p) { return structure_of(p.forward); }

}  // namespace

Complexity complexity(const Problem& problem) {
  Complexity sum;
  std::set<std::uint64_t> distinct;
  std::visit(
      [&](const auto& p) {
        for (const Tensor* tensor : tensors_of(p)) add_tensor(sum, distinct, *tensor);
        sum.structure = structure_of(p);
      },
      problem);
  sum.distinct = distinct.size();
  return sum;
}

std::vector<Candidate> candidates(const Problem& problem) {
  std::vector<Candidate> list = structure_candidates(problem);
  for (Candidate& candidate : number_candidates(problem)) list.push_back(std::move(candidate));
  return list;
}

std::optional<Problem> simpler_problem(const Candidate& candidate, const Complexity& before) {
  Problem simpler = candidate();
  if (!(complexity(simpler) < before)) return std::nullopt;
  try {
    if (auto* gradient = std::get_if<BackwardProblem>(&simpler)) {
      validate(gradient->forward);
      store_ideal_forward(*gradient);
    }
    validate(simpler);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return simpler;
}

void for_each_simpler(const Problem& problem, const std::function<bool(Problem)>& use) {
  const Complexity before = complexity(problem);
  for (const Candidate& candidate : candidates(problem)) {
    std::optional<Problem> simpler = simpler_problem(candidate, before);
    if (simpler && !use(*std::move(simpler))) return;
  }
}

Problem minimise(Problem problem, const std::function<bool(const Problem&)>& fails, int tries,
                 const std::function<bool()>& stop) {
  for (bool found = true; found && tries > 0;) {
    found = false;
    Problem simpler;
    for_each_simpler(problem, [&](Problem candidate) {
      if (tries-- <= 0 || (stop && stop())) return false;
      if (!fails(candidate)) return true;
      simpler = std::move(candidate);
      found = true;
      return false;
    });
    if (found) problem = std::move(simpler);
  }
  return problem;
}

}  // namespace flashproof
