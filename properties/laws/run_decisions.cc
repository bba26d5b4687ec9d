// RunDecisions of run_power.h: one kernel over many cases, by each alternative of its declaration.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/laws/run_power.h"
#include "reference/system/text.h"

namespace flashproof {

std::vector<Question> questions(ProblemKind problem, std::span<const Law* const> asked) {
  std::vector<Question> list;
  for (const Law* law : laws_of(problem)) {
    const bool chosen = std::ranges::find(asked, law) != asked.end();
    if (chosen || law->judge != nullptr) list.push_back({law, chosen});
  }
  return list;
}

void RunDecisions::add(const CaseSpec& spec, const AlternativesSeen& seen, const std::map<std::size_t, Power>& powers) {
  explanation_.add(seen, spec);
  for (const auto& [alternative, power] : powers) powers_[seen.asked][alternative].add(spec, power);
}

void RunDecisions::said(std::string_view law, const CaseSpec& spec, const AlternativesSeen& seen,
                        const std::map<std::size_t, Power>& powers) {
  Powers& of_law = powers_by_law_[std::string(law)];
  for (const auto& [alternative, power] : powers) of_law[seen.asked][alternative].add(spec, power);
}

void RunDecisions::unasked(std::string_view law, const CaseSpec& spec, const Verdict& verdict) {
  Unasked& seen = unasked_[std::string(law)];
  seen.decided = seen.decided || verdict.kind == VerdictKind::pass || verdict.failed();
  if (!verdict.failed() && verdict.kind != VerdictKind::inconclusive) return;
  // Workers finish in any order; what is told does not depend on it.
  const bool same_kind = seen.verdict && seen.verdict->kind == verdict.kind;
  if (seen.verdict && !(same_kind ? comes_before(spec, seen.spec) : verdict.failed())) return;
  seen.verdict = verdict;
  seen.spec = spec;
}

void RunDecisions::offer(std::string_view family, bool taken) {
  ++offered_;
  if (taken) asked_.emplace(family);
}

RunPower RunDecisions::chosen(const Powers& powers) const {
  const std::optional<std::size_t> left = explanation_.explaining();
  RunPower power;
  for (const auto& [group, by_alternative] : powers) {
    auto by = left ? by_alternative.find(*left) : by_alternative.end();
    if (by == by_alternative.end()) {
      if (const auto survivor = explanation_.survivor(group)) by = by_alternative.find(*survivor);
    }
    // Where no alternative is left the domain is a finding all the same.
    power.merge(by == by_alternative.end() ? by_alternative.begin()->second : by->second);
  }
  return power;
}

std::string undecided_promise(std::string_view law, const Power& power) {
  const std::optional<Part> part = power.weakest(std::numeric_limits<double>::min());
  if (!part) return {};
  return fmt::format("{} was asked, and of its cases {}", law, power_text(*part, power.of(*part)));
}

std::string refused_law_text(std::string_view law, std::uint64_t refused, std::uint64_t executed) {
  return fmt::format("{} was asked, and in {} of {} cases the kernel refused what the law made of them", law, refused,
                     executed);
}

std::optional<RunPower> RunDecisions::power() const {
  if (powers_.empty() && asked_.empty()) return std::nullopt;
  RunPower power = chosen(powers_);
  for (const std::string& family : asked_) power.ask(family);
  for (const auto& [family, cases] : refused_) power.refuse(family, cases);
  return power;
}

Conclusion RunDecisions::conclude() const {
  Conclusion conclusion;
  if (static_cast<double>(asked_.size()) < kLeastTaken * static_cast<double>(offered_)) {
    conclusion.undecided.push_back(fmt::format("what the kernel takes leaves {} of {} input families: {}",
                                               asked_.size(), offered_, fmt::join(asked_, ", ")));
  }
  for (const auto& [law, seen] : unasked_) {
    if (seen.verdict) {
      const std::string says = to_string(Verdict{seen.verdict->kind, seen.verdict->failure, {}});
      conclusion.unasked.push_back(fmt::format("{} was not asked, and says {} of {}: {}", law, says,
                                               to_string(seen.spec), one_line(seen.verdict->detail)));
    } else if (!seen.decided) {
      conclusion.undecided.push_back(fmt::format("{} was not asked, and decides no case", law));
    }
  }
  const std::string_view judge = judging_laws().front().name;
  const auto seen = unasked_.find(judge);
  conclusion.judged = powers_by_law_.contains(judge) || (seen != unasked_.end() && seen->second.decided);
  for (const auto& [law, powers] : powers_by_law_) conclusion.by_law.emplace(law, chosen(powers).balanced());
  const std::optional<RunPower> of_run = power();
  if (!of_run) return conclusion;
  conclusion.power = of_run->balanced();
  conclusion.families = of_run->families().size();
  conclusion.open = of_run->open();
  if (std::string why = of_run->undecided(); !why.empty()) conclusion.undecided.push_back(std::move(why));
  return conclusion;
}

Conclusion RunDecisions::conclude(const KernelDeclaration& kernel) const {
  Conclusion conclusion = conclude();
  const std::vector<std::string> members = alternative_members(kernel);
  conclusion.contradiction = explanation_.contradiction(members);
  if (!conclusion.contradiction) conclusion.suggestion = explanation_.suggestion(members);
  if (const std::optional<RunPower> of_run = power()) {
    conclusion.narrow = of_run->narrow_declaration(kernel, explanation_.explaining().value_or(0));
    if (!conclusion.narrow.empty()) conclusion.lost = of_run->families().find(of_run->lost().front())->second.lost;
  }
  return conclusion;
}

}  // namespace flashproof
