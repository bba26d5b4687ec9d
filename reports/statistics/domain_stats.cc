#include "reports/statistics/domain_stats.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <tuple>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

auto rank(const Precondition& p) {
  return std::tuple(p.load(), std::bit_cast<std::uint64_t>(p.value), std::bit_cast<std::uint64_t>(p.limit));
}

/// The names stay in the map's keys: a merged extreme has none of its own.
void take_higher(Precondition& to, const Precondition& from) {
  if (rank(from) > rank(to)) to = {"", from.value, from.limit};
}

constexpr std::string_view kSeparator = "|";

struct Reader {
  std::string_view rest;

  std::string_view token() {
    const std::size_t end = rest.find(kSeparator);
    if (end == std::string_view::npos) throw UsageError("domain statistics: the text ends too early");
    const std::string_view result = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return result;
  }
  std::uint64_t number() {
    const std::string_view text = token();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw UsageError(
          fmt::format("domain statistics: {} is not a hexadecimal number below 2^64", quote(text.substr(0, 40))));
    }
    return value;
  }
  Precondition extreme() {
    const double value = std::bit_cast<double>(number());
    return {"", value, std::bit_cast<double>(number())};
  }
};

std::string text_of(const Precondition& p) {
  return fmt::format("{:x}|{:x}|", std::bit_cast<std::uint64_t>(p.value), std::bit_cast<std::uint64_t>(p.limit));
}

}  // namespace

void PreconditionStats::merge(const PreconditionStats& other) {
  outside += other.outside;
  take_higher(worst, other.worst);
  take_higher(nearest, other.nearest);
}

void DomainStats::add(const Bound& bound, bool refuses) {
  for (const auto* rows : {&bound.query_domain, &bound.key_domain}) {
    for (const RowDomain& row : *rows) add(row.nearest);
  }
  for (std::int64_t row = 0; row < bound.rows; ++row) {
    const auto r = static_cast<std::size_t>(row), width = static_cast<std::size_t>(bound.width);
    Precondition nearest = bound.domain[r].nearest;
    for (std::size_t i = r * width; i < (r + 1) * width && nearest.holds(); ++i) {
      if (!bound.domain_of(r, i).holds()) nearest = bound.domain_of(r, i).nearest;
    }
    const Precondition& form = bound.domain[r].form;
    if (refuses && nearest.holds() && form.load() > nearest.load()) nearest = form;
    add(nearest);
  }
}

void DomainStats::add(const Precondition& nearest) {
  ++rows;
  outside += nearest.holds() ? 0 : 1;
  if (*nearest.name == '\0') return;
  PreconditionStats one;
  one.outside = nearest.holds() ? 0 : 1;
  take_higher(nearest.holds() ? one.nearest : one.worst, nearest);
  by_name[nearest.name].merge(one);
}

void DomainStats::merge(const DomainStats& other) {
  rows += other.rows;
  outside += other.outside;
  for (const auto& [name, stats] : other.by_name) by_name[name].merge(stats);
}

const std::pair<const std::string, PreconditionStats>* DomainStats::nearest() const {
  const std::pair<const std::string, PreconditionStats>* result = nullptr;
  for (const auto& entry : by_name) {
    const double load = entry.second.nearest.load();
    if (load > 0 && (result == nullptr || load > result->second.nearest.load())) result = &entry;
  }
  return result;
}

std::string DomainStats::serialize() const {
  std::string text = fmt::format("{:x}|{:x}|", rows, outside);
  for (const auto& [name, stats] : by_name) {
    text += fmt::format("{}|{:x}|", name, stats.outside) + text_of(stats.worst) + text_of(stats.nearest);
  }
  return text;
}

DomainStats DomainStats::deserialize(std::string_view text) {
  Reader in{text};
  DomainStats result;
  result.rows = in.number();
  result.outside = in.number();
  while (!in.rest.empty()) {
    const std::string name(in.token());
    PreconditionStats stats;
    stats.outside = in.number();
    stats.worst = in.extreme();
    stats.nearest = in.extreme();
    if (!result.by_name.emplace(name, stats).second) throw UsageError("domain statistics: a precondition twice");
  }
  if (result.outside > result.rows) throw UsageError("domain statistics: more rows outside than there are");
  return result;
}

}  // namespace flashproof
