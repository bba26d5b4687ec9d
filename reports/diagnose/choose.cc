#include "reports/diagnose/choose.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "properties/generators/family.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::size_t kOfFamily = 24;
constexpr std::int64_t kMostWork = 60'000'000;  // multiplications of an attention: some seconds with every hypothesis

std::int64_t work_of(const Problem& problem) {
  const OutputShape shape = output_shape(problem);
  const AttentionProblem* p = attention_of(problem);
  if (p == nullptr) return shape.rows * shape.width;
  return shape.rows * std::max<std::int64_t>(p->k_length(), 1) * (p->head_dim() + p->value_dim());
}

bool takes(const Kernel& kernel, const Problem& problem) {
  if (!kernel.supports(format_of(problem)) || !kernel.unsupported(problem).empty()) return false;
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return gradient == nullptr || !kernel.own_forward || gradient->mode == BackwardMode::gradient;
}

struct Sized {
  Case content;
  std::int64_t work;
};

}  // namespace

std::deque<Case> choose_cases(const Kernel& kernel, std::span<const CaseSpec> specs, std::size_t most, bool larger) {
  std::map<std::string, std::vector<Sized>> by_family;
  std::vector<std::string> order;
  for (const CaseSpec& spec : specs) {
    auto& of_family = by_family[spec.family];
    if (of_family.empty()) order.push_back(spec.family);
    if (of_family.size() == kOfFamily) continue;
    try {
      Case content = make_case(spec);
      if (!takes(kernel, content.problem)) continue;
      const std::int64_t work = work_of(content.problem);
      if (work <= (larger ? kMostWork / 100 : kMostWork)) of_family.push_back({std::move(content), work});
    } catch (const UsageError&) {  // the family has no such case
    }
  }
  for (auto& [family, cases] : by_family)
    std::ranges::stable_sort(cases, {}, [larger](const Sized& c) { return larger ? -c.work : c.work; });
  std::ranges::sort(order);
  order.erase(std::ranges::unique(order).begin(), order.end());
  // Families with the smallest case first.
  std::ranges::stable_sort(
      order, {}, [&](const std::string& f) { return by_family[f].empty() ? kMostWork : by_family[f][0].work; });
  std::deque<Case> chosen;
  for (std::size_t round = 0; round < kOfFamily && chosen.size() < most; ++round) {
    for (const std::string& family : order) {
      auto& cases = by_family[family];
      if (round < cases.size() && chosen.size() < most) chosen.push_back(std::move(cases[round].content));
    }
  }
  return chosen;
}

}  // namespace flashproof
