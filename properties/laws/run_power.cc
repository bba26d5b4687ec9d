#include "properties/laws/run_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "properties/generators/family.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/arithmetic_json.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

std::uint64_t outside_of(const Power& power) {
  std::uint64_t sum = 0;
  for (const PowerCounts& part : power.parts) sum += part.of(Decided::outside);
  return sum;
}

/// Rows of the case that are outside, of all; an open reduction's are those of its first alternative.
double rows_outside(const Problem& problem, const Arithmetic& arithmetic) {
  const Bound bound = compute_bound(problem, alternatives(arithmetic, problem).front());
  const auto outside = std::ranges::count_if(bound.domain, [](const RowDomain& row) { return !row.holds(); });
  const auto columns = std::ranges::count_if(bound.accumulator_outside, [](std::uint8_t out) { return out != 0; });
  const double rows = static_cast<double>(outside) / static_cast<double>(std::max<std::size_t>(1, bound.domain.size()));
  const double sums = static_cast<double>(columns) / static_cast<double>(std::max<std::size_t>(1, bound.o.size()));
  return std::max(rows, sums);
}

/// The member of the declaration whose default brings back most of the case, as JSON.
std::string guilty_field(const Problem& problem, const Arithmetic& declared) {
  constexpr std::int64_t kColumns = 1024;
  const auto fields = nlohmann::ordered_json::parse(arithmetic_json(declared, kColumns));
  const auto defaults =
      nlohmann::ordered_json::parse(arithmetic_json(Arithmetic{.reduction = declared.reduction}, kColumns));
  double least = rows_outside(problem, declared) / 2;
  std::string guilty;
  for (const auto& [field, value] : fields.items()) {
    if (!defaults.contains(field) || defaults[field] == value) continue;
    auto changed = fields;
    changed[field] = defaults[field];
    try {
      const double left = rows_outside(problem, parse_arithmetic(changed.dump(), kind_of(problem), format_of(problem)));
      if (left >= least) continue;
      least = left;
      guilty = fmt::format("\"{}\": {}", field, value.dump());
    } catch (const UsageError&) {
    } catch (const std::invalid_argument&) {  // the default contradicts another field: not this one alone
    }
  }
  return guilty;
}

std::string failing_precondition(const Problem& problem, const Arithmetic& arithmetic) {
  const Bound bound = compute_bound(problem, alternatives(arithmetic, problem).front());
  for (const RowDomain& row : bound.domain) {
    if (!row.holds()) return fmt::format("the precondition \"{}\"", row.nearest.name);
  }
  return "the range of its sums";
}

}  // namespace

bool FamilyPower::is_lost() const { return 2 * outside_of(power) > power.elements(); }

void RunPower::add(const CaseSpec& spec, const Power& power) {
  FamilyPower& family = families_[spec.family];
  ++family.judged;
  family.power.merge(power);
  const std::uint64_t outside = outside_of(power);
  // Workers finish in any order: of equals the lowest seed.
  if (outside > family.outside || (outside > 0 && outside == family.outside && spec.seed < family.lost.seed)) {
    family.outside = outside;
    family.lost = spec;
  }
}

Power RunPower::balanced() const {
  constexpr double kPerFamily = 1 << 20;
  Power power;
  for (const auto& [name, family] : families_) {
    for (std::size_t part = 0; part < kPartCount; ++part) {
      const PowerCounts& counts = family.power.parts[part];
      const auto elements = static_cast<double>(counts.elements());
      for (std::size_t i = 0; elements > 0 && i < kDecided; ++i) {
        const double share = static_cast<double>(counts.counts[i]) / elements;
        power.parts[part].counts[i] += static_cast<std::uint64_t>(std::llround(kPerFamily * share));
      }
    }
  }
  return power;
}

std::vector<std::string_view> RunPower::lost() const {
  std::vector<std::string_view> names;
  for (const Family& family : flashproof::families()) {
    const auto found = families_.find(family.name);
    if (found != families_.end() && found->second.is_lost()) names.push_back(family.name);
  }
  return names;
}

std::vector<std::string> RunPower::open() const {
  std::vector<std::string> list;
  for (const auto& [name, family] : families_) {
    if (!family.is_open()) continue;
    const std::optional<Part> part = family.power.weakest();
    const bool refused = family.judged == 0 || family.refused > family.judged;
    list.push_back(part && !refused ? fmt::format("{} ({}: {})", name, flashproof::name(*part),
                                                  flashproof::name(family.power.of(*part).reason()))
                                    : fmt::format("{} (refused)", name));
  }
  return list;
}

std::string RunPower::undecided() const {
  const Power total = balanced();
  if (const std::optional<Part> weakest = total.weakest()) return power_text(*weakest, total.of(*weakest));
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const PowerCounts& counts = total.parts[i];
    const auto elements = static_cast<double>(counts.elements());
    if (static_cast<double>(counts.of(Decided::yes)) >= kLeastComputed * elements) continue;
    return fmt::format(
        "{:.0f} % of {} is what a kernel that computes nothing returns: 0, 1, a copy, uniform weights, ...",
        std::floor(100 * static_cast<double>(counts.of(Decided::trivial)) / elements), name(static_cast<Part>(i)));
  }
  const std::vector<std::string> names = open();
  const auto families = static_cast<double>(families_.size());
  if (families - static_cast<double>(names.size()) >= kLeastFamilies * families) return {};
  return fmt::format("of {} input families {} have too little decided: {}", families_.size(), names.size(),
                     fmt::join(names, ", "));
}

std::string RunPower::narrow_declaration(const KernelDeclaration& kernel) const {
  const std::vector<std::string_view> names = lost();
  const auto served =
      std::ranges::count_if(flashproof::families(), [&](const Family& f) { return f.serves(kernel.problem); });
  if (2 * names.size() <= static_cast<std::size_t>(served)) return {};
  const CaseSpec& spec = families_.find(names.front())->second.lost;
  std::string field;
  try {
    const Problem problem = make_case(spec).problem;
    field = guilty_field(problem, kernel.arithmetic);
    const bool refused = kernel.contract.refuses_beyond_range && rows_outside(problem, kernel.arithmetic) <= 0.5;
    if (field.empty())
      field = refused ? "\"refuses_beyond_range\": true" : failing_precondition(problem, kernel.arithmetic);
  } catch (const UsageError&) {  // a case that was not drawn from a family
    field = "the declaration";
  }
  return fmt::format("{} leaves {} of {} input families out of the domain that is declared, where NaN would pass: {}",
                     field, names.size(), served, fmt::join(names, ", "));
}

std::vector<Question> questions(std::span<const Law* const> asked) {
  std::vector<Question> list;
  for (const Law& law : laws()) {
    const bool chosen = std::ranges::find(asked, &law) != asked.end();
    if (chosen || law.judge != nullptr) list.push_back({&law, chosen});
  }
  return list;
}

void RunDecisions::add(const CaseSpec& spec, const AlternativesSeen& seen, const std::map<std::size_t, Power>& powers) {
  explanation_.add(seen, spec);
  for (const auto& [alternative, power] : powers) powers_[alternative].add(spec, power);
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

std::optional<RunPower> RunDecisions::power() const {
  const std::optional<std::size_t> left = explanation_.explaining();
  // Where no alternative is left the domain is a finding all the same.
  const auto by = left ? powers_.find(*left) : powers_.begin();
  if (by == powers_.end()) return std::nullopt;
  RunPower power = by->second;
  for (const std::string& family : asked_) power.ask(family);
  for (const auto& [family, cases] : refused_) power.refuse(family, cases);
  return power;
}

Conclusion RunDecisions::conclude(CaseLine line) const {
  Conclusion conclusion;
  if (static_cast<double>(asked_.size()) < kLeastTaken * static_cast<double>(offered_)) {
    conclusion.undecided.push_back(fmt::format("what the kernel takes leaves {} of {} input families: {}",
                                               asked_.size(), offered_, fmt::join(asked_, ", ")));
  }
  for (const auto& [law, seen] : unasked_) {
    if (seen.verdict) {
      const std::string says = to_string(Verdict{seen.verdict->kind, seen.verdict->failure, {}});
      conclusion.unasked.push_back(fmt::format("{} was not asked, and says {} of {}: {}", law, says, line(seen.spec),
                                               one_line(seen.verdict->detail)));
    } else if (!seen.decided) {
      conclusion.undecided.push_back(fmt::format("{} was not asked, and decides no case", law));
    }
  }
  const std::optional<RunPower> of_run = power();
  if (!of_run && !asked_.empty()) {
    conclusion.undecided.push_back("no case that the kernel took has a bound of its declaration");
  }
  if (!of_run) return conclusion;
  conclusion.power = of_run->balanced();
  conclusion.families = of_run->families().size();
  conclusion.open = of_run->open();
  if (std::string why = of_run->undecided(); !why.empty()) conclusion.undecided.push_back(std::move(why));
  return conclusion;
}

Conclusion RunDecisions::conclude(const KernelDeclaration& kernel) const {
  Conclusion conclusion = conclude(to_string);
  conclusion.contradiction = explanation_.contradiction(kernel.arithmetic, kernel.problem);
  if (!conclusion.contradiction) conclusion.suggestion = explanation_.suggestion(kernel.arithmetic, kernel.problem);
  if (const std::optional<RunPower> of_run = power()) {
    conclusion.narrow = of_run->narrow_declaration(kernel);
    if (!conclusion.narrow.empty()) conclusion.lost = of_run->families().find(of_run->lost().front())->second.lost;
  }
  return conclusion;
}

}  // namespace flashproof
