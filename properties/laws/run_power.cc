#include "properties/laws/run_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "properties/generators/family.h"
#include "properties/laws/support/judged_bound.h"
#include "reference/bound/alternatives.h"
#include "reference/bound/backward/arithmetic_json.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::uint64_t outside_of(const Power& power) {
  std::uint64_t sum = 0;
  for (const PowerCounts& part : power.parts) sum += part.of(Decided::outside);
  return sum;
}

/// The one of this index, or, where it has no meaning for the problem, the first that has one.
template <class T>
T one_of(std::vector<std::optional<T>> list, std::size_t index) {
  if (index < list.size() && list[index]) return std::move(*list[index]);
  for (std::optional<T>& one : list) {
    if (one) return std::move(*one);
  }
  throw UsageError("the declaration has no meaning for this problem");
}

/// As the case is judged; of an open declaration by this alternative.
Bound bound_of(const KernelDeclaration& declared, const Case& subject, std::size_t alternative) {
  Kernel kernel{declared};
  CaseTruth truth(subject);
  if (const auto* gradient = std::get_if<BackwardProblem>(&subject.problem); gradient != nullptr)
    return one_of(judged_bounds(kernel, *gradient, truth), alternative);
  kernel.arithmetic = one_of(alternatives_in_place(kernel.arithmetic, subject.problem), alternative);
  return judged_bound(kernel, subject, truth);
}

double share(std::int64_t some, std::size_t all) {
  return static_cast<double>(some) / static_cast<double>(std::max<std::size_t>(1, all));
}

/// Rows of the case that are outside, of all: of a gradient the larger share of queries and keys.
double rows_outside(const KernelDeclaration& kernel, const Case& subject, std::size_t alternative) {
  const Bound bound = bound_of(kernel, subject, alternative);
  double most = share(std::ranges::count_if(bound.accumulator_outside, [](std::uint8_t out) { return out != 0; }),
                      bound.o.size());
  for (const auto* rows : {&bound.domain, &bound.query_domain, &bound.key_domain}) {
    const auto outside = std::ranges::count_if(*rows, [](const RowDomain& row) { return !row.holds(); });
    most = std::max(most, share(outside, rows->size()));
  }
  return most;
}

/// The kernel with one member of its declaration as the default has it, for each that differs, with the member as JSON. What names
/// the algorithm is none: a kernel cannot declare another one.
std::vector<std::pair<std::string, KernelDeclaration>> without_each_member(const KernelDeclaration& kernel,
                                                                           const Problem& problem,
                                                                           std::size_t alternative) {
  constexpr std::int64_t kColumns = 1024;
  std::vector<std::pair<std::string, KernelDeclaration>> list;
  const auto add = [&](std::string member) -> KernelDeclaration& {
    return list.emplace_back(std::move(member), kernel).second;
  };
  if (kernel.problem == ProblemKind::backward) {
    const auto declared = Kernel{kernel}.backward_for(format_of(problem));
    for (WithoutField& without : without_each_field(declared, alternative, format_of(problem)))
      add(std::move(without.field)).backward_one_of = std::move(without.one_of);
    return list;
  }
  const auto fields = nlohmann::ordered_json::parse(arithmetic_json(kernel.arithmetic, kColumns));
  Arithmetic same_algorithm;
  same_algorithm.reduction = kernel.arithmetic.reduction;
  same_algorithm.exponent = kernel.arithmetic.exponent;
  same_algorithm.merge_weights = kernel.arithmetic.merge_weights;
  const auto defaults = nlohmann::ordered_json::parse(arithmetic_json(same_algorithm, kColumns));
  for (const auto& [field, value] : fields.items()) {
    if (!defaults.contains(field) || defaults[field] == value) continue;
    auto changed = fields;
    changed[field] = defaults[field];
    try {
      const Arithmetic without = parse_arithmetic(changed.dump(), kind_of(problem), format_of(problem));
      add(fmt::format("\"{}\": {}", field, value.dump())).arithmetic = without;
    } catch (const UsageError&) {  // the default contradicts another field: not this one alone
    }
  }
  return list;
}

/// The member of the declaration whose default brings back most of the case.
std::string guilty_field(const KernelDeclaration& kernel, const Case& subject, std::size_t alternative) {
  double least = rows_outside(kernel, subject, alternative) / 2;
  std::string guilty;
  for (const auto& [member, without] : without_each_member(kernel, subject.problem, alternative)) {
    try {
      const double left = rows_outside(without, subject, alternative);
      if (left >= least) continue;
      least = left;
      guilty = member;
    } catch (const UsageError&) {
    } catch (const std::invalid_argument&) {  // no bound without it
    }
  }
  return guilty;
}

std::string failing_precondition(const KernelDeclaration& kernel, const Case& subject, std::size_t alternative) {
  const Bound bound = bound_of(kernel, subject, alternative);
  for (const auto* rows : {&bound.domain, &bound.query_domain, &bound.key_domain}) {
    for (const RowDomain& row : *rows) {
      if (!row.holds()) return fmt::format("the precondition \"{}\"", row.nearest.name);
    }
  }
  return "the range of its sums";
}

}  // namespace

bool FamilyPower::is_lost() const { return 2 * outside_of(power) > power.elements(); }

void FamilyPower::merge(const FamilyPower& other) {
  power.merge(other.power);
  judged += other.judged;
  refused += other.refused;
  // Workers finish in any order: of equals the lowest seed.
  if (other.outside < outside || other.outside == 0) return;
  if (other.outside == outside && other.lost.seed >= lost.seed) return;
  outside = other.outside;
  lost = other.lost;
}

void RunPower::add(const CaseSpec& spec, const Power& power, std::uint64_t cases) {
  families_[spec.family].merge({.power = power, .lost = spec, .outside = outside_of(power), .judged = cases});
}

void RunPower::merge(const RunPower& other) {
  for (const auto& [name, family] : other.families_) families_[name].merge(family);
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
    std::string why = "refused";
    if (family.judged == 0 && family.refused == 0) {
      why = "not judged";
    } else if (family.power.elements() == 0 && family.refused <= family.judged) {
      why = "no element";
    } else if (part && family.refused <= family.judged) {
      why = fmt::format("{}: {}", flashproof::name(*part), flashproof::name(family.power.of(*part).reason()));
    }
    list.push_back(fmt::format("{} ({})", name, why));
  }
  return list;
}

std::string RunPower::unjudged() const {
  std::uint64_t judged = 0, refused = 0, elements = 0;
  double shares = 0, asked = 0;  // of the families that have a case
  std::vector<std::string> refusals;
  for (const auto& [name, family] : families_) {
    const std::uint64_t cases = family.judged + family.refused;
    judged += family.judged, refused += family.refused, elements += family.power.elements();
    if (cases == 0) continue;
    shares += static_cast<double>(family.refused) / static_cast<double>(cases), ++asked;
    if (family.refused > 0) refusals.push_back(fmt::format("{} {} of {}", name, family.refused, cases));
  }
  if (families_.empty()) return {};
  if (judged == 0 && refused > 0) {
    return fmt::format("no case was judged: {} were refused when the kernel was called", refused);
  }
  if (static_cast<double>(refused) > kMostRefused * static_cast<double>(judged + refused) ||
      shares > kMostRefused * asked) {
    return fmt::format("of {} cases that the declaration takes {} were refused when the kernel was called: {}",
                       judged + refused, refused, fmt::join(refusals, ", "));
  }
  if (judged > 0 && elements == 0) return "no element was judged: every output is empty";
  if (judged > 0) return {};
  return "no case was judged: none that the kernel took ran to its end and has a bound of its declaration";
}

std::string RunPower::undecided() const {
  if (std::string why = unjudged(); !why.empty()) return why;
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

namespace {
constexpr std::size_t kMostLost = 8;  // families that are asked for the guilty field
}  // namespace

std::string RunPower::narrow_declaration(const KernelDeclaration& kernel, std::size_t alternative) const {
  const std::vector<std::string_view> names = lost();
  if (2 * names.size() <= families_.size()) return {};
  const auto served =
      std::ranges::count_if(flashproof::families(), [&](const Family& f) { return f.serves(kernel.problem); });
  const bool most = 2 * names.size() > static_cast<std::size_t>(served);
  std::string field;
  try {
    // Of the first family no field may be guilty alone: where the default's domain ends, too, another family tells.
    for (std::size_t i = 0; i < std::min(names.size(), kMostLost) && field.empty(); ++i) {
      field = guilty_field(kernel, make_case(families_.find(names[i])->second.lost), alternative);
    }
    const Case lost = make_case(families_.find(names.front())->second.lost);
    const bool refused = kernel.contract.refuses_beyond_range && rows_outside(kernel, lost, alternative) <= 0.5;
    if (field.empty() && most)
      field = refused ? "\"refuses_beyond_range\": true" : failing_precondition(kernel, lost, alternative);
  } catch (const UsageError&) {  // a case that was not drawn from a family
    if (most) field = "the declaration";
  }
  if (field.empty()) return {};
  return fmt::format("{} leaves {} of {} input families out of the domain that is declared, where NaN would pass: {}",
                     field, names.size(), families_.size(), fmt::join(names, ", "));
}

}  // namespace flashproof
