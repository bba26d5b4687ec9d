#include "properties/laws/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "reference/bound/alternatives.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/declare/arithmetic_json.h"

namespace flashproof {

std::vector<std::string> alternative_members(const KernelDeclaration& kernel) {
  std::vector<std::string> members;
  if (kernel.problem == ProblemKind::backward) {
    const Format inputs = kernel.formats.front();
    for (const BackwardArithmetic& a : Kernel{kernel}.backward_for(inputs))
      members.push_back(declaring_members(a, inputs));
    return members;
  }
  for (const Arithmetic& a : alternatives(kernel.arithmetic, kernel.problem)) {
    members.push_back(difference_json(kernel.arithmetic, a));
  }
  return members;
}

bool comes_before(const CaseSpec& a, const CaseSpec& b) {
  return std::tie(a.family, a.seed, a.keys) < std::tie(b.family, b.seed, b.keys);
}

void Explanation::add(const AlternativesSeen& seen, const CaseSpec& spec) {
  if (std::popcount(seen.asked) < 2) return;  // a declaration that is not open
  Group& group = groups_[seen.asked];
  group.failed |= seen.failed;
  for (int i = 0; i < 32; ++i) {
    if ((seen.failed >> i & 1) == 0) continue;
    const auto [first, is_new] = group.first.try_emplace(i, spec);
    if (!is_new && comes_before(spec, first->second)) first->second = spec;
  }
}

std::uint32_t Explanation::left() const {
  std::uint32_t asked = 0, left = ~std::uint32_t{0};
  for (const auto& [of_group, group] : groups_) {
    asked |= of_group;
    const std::uint32_t survivors = of_group & ~group.failed;
    // One that has no meaning for these problems is not the one that computes them: another has to.
    left &= survivors == 0 ? 0 : survivors | ~of_group;
  }
  return asked & left;
}

std::optional<Explanation::Contradiction> Explanation::contradiction(const std::vector<std::string>& members) const {
  if (groups_.empty() || left() != 0) return std::nullopt;
  Contradiction found;
  std::map<int, CaseSpec> first;
  for (const auto& [asked, group] : groups_) {
    for (const auto& [index, spec] : group.first) {
      found.cases.push_back(spec);  // of each group by itself: what is left of one holds for all
      const auto [at, is_new] = first.try_emplace(index, spec);
      if (!is_new && comes_before(spec, at->second)) at->second = spec;
    }
  }
  std::string text = "no single one of the declarations that an open one stands for explains every case:";
  for (const auto& [index, spec] : first) {
    text += fmt::format(" {{{}}} fails in {};", members.at(static_cast<std::size_t>(index)), to_string(spec));
  }
  text.pop_back();
  std::ranges::sort(found.cases, comes_before);
  found.cases.erase(std::ranges::unique(found.cases).begin(), found.cases.end());
  found.verdict = {VerdictKind::fail, Failure::exceeds_bound, std::move(text)};
  return found;
}

std::optional<std::size_t> Explanation::explaining() const {
  const std::uint32_t survivors = groups_.empty() ? 0 : left();
  if (survivors == 0) return std::nullopt;
  // Those that have a meaning for every problem come first.
  std::uint32_t everywhere = survivors;
  for (const auto& [asked, group] : groups_) everywhere &= asked;
  return static_cast<std::size_t>(std::countr_zero(everywhere != 0 ? everywhere : survivors));
}

std::optional<std::size_t> Explanation::survivor(std::uint32_t asked) const {
  const auto group = groups_.find(asked);
  const std::uint32_t left = group == groups_.end() ? asked : asked & ~group->second.failed;
  if (left == 0) return std::nullopt;
  return static_cast<std::size_t>(std::countr_zero(left));
}

std::string Explanation::suggestion(const std::vector<std::string>& members) const {
  const std::optional<std::size_t> index = explaining();
  return index ? members.at(*index) : std::string();
}

std::string narrower_text(const std::string& suggestion) {
  // Members with a preset are a declaration of their own.
  const std::string declaration = suggestion.starts_with("\"preset\"")
                                      ? "be {" + suggestion + "}"
                                      : "add " + suggestion + R"( to {"preset": "unknown"})";
  return "the declaration may " + declaration +
         ", if the kernel computes so: every result fits it, and smaller errors would be found";
}

}  // namespace flashproof
