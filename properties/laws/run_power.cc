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

/// The member of the declaration whose default brings back most of the case, as JSON. What names the algorithm is none: a kernel
/// cannot declare another one.
std::string guilty_field(const Problem& problem, const Arithmetic& declared) {
  constexpr std::int64_t kColumns = 1024;
  const auto fields = nlohmann::ordered_json::parse(arithmetic_json(declared, kColumns));
  Arithmetic same_algorithm;
  same_algorithm.reduction = declared.reduction;
  same_algorithm.exponent = declared.exponent;
  same_algorithm.merge_weights = declared.merge_weights;
  const auto defaults = nlohmann::ordered_json::parse(arithmetic_json(same_algorithm, kColumns));
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
    } else if (part && family.refused <= family.judged) {
      why = fmt::format("{}: {}", flashproof::name(*part), flashproof::name(family.power.of(*part).reason()));
    }
    list.push_back(fmt::format("{} ({})", name, why));
  }
  return list;
}

std::string RunPower::unjudged() const {
  std::uint64_t judged = 0, refused = 0;
  for (const auto& [name, family] : families_) judged += family.judged, refused += family.refused;
  if (families_.empty()) return {};
  if (judged == 0 && refused > 0) {
    return fmt::format("no case was judged: {} were refused when the kernel was called", refused);
  }
  if (refused > judged) {
    return fmt::format("of {} cases that the declaration takes {} were refused when the kernel was called: {}",
                       judged + refused, refused, fmt::join(open(), ", "));
  }
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

std::string RunPower::narrow_declaration(const KernelDeclaration& kernel) const {
  const std::vector<std::string_view> names = lost();
  if (2 * names.size() <= families_.size()) return {};
  const CaseSpec& spec = families_.find(names.front())->second.lost;
  const auto served =
      std::ranges::count_if(flashproof::families(), [&](const Family& f) { return f.serves(kernel.problem); });
  const bool most = 2 * names.size() > static_cast<std::size_t>(served);
  std::string field;
  try {
    const Problem problem = make_case(spec).problem;
    field = guilty_field(problem, kernel.arithmetic);
    const bool refused = kernel.contract.refuses_beyond_range && rows_outside(problem, kernel.arithmetic) <= 0.5;
    if (field.empty() && most)
      field = refused ? "\"refuses_beyond_range\": true" : failing_precondition(problem, kernel.arithmetic);
  } catch (const UsageError&) {  // a case that was not drawn from a family
    if (most) field = "the declaration";
  }
  if (field.empty()) return {};
  return fmt::format("{} leaves {} of {} input families out of the domain that is declared, where NaN would pass: {}",
                     field, names.size(), families_.size(), fmt::join(names, ", "));
}

}  // namespace flashproof
