// What a report says beyond verdicts: errors above the probable bound, bias, and the domain of the bounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

void add_part(const Report& report, const Record& r, Part part, std::vector<Investigation>& list) {
  const ErrorStats& s = r[part];
  if (s.investigate > 0) {
    const ErrorWitness& w = s.probable_witness;
    const std::string line = one_line(to_string(case_of(r, w.case_index)));
    const auto known = report.blamed.find(blame_key(r, part, w.case_index, w.index));
    const Assumption blamed =
        known != report.blamed.end() ? known->second : likely_broken(r.kernel->arithmetic, w.bound, w.error);
    list.push_back({&r, part, false, s.investigate, s.elements, w.ratio, w, line, blamed});
  }
  if (s.biased()) {
    list.push_back({&r, part, true, s.bias_elements, s.elements, std::fabs(s.bias()) / s.bias_limit(), {}, {}, {}});
  }
}

std::string extreme_text(const Precondition& p) { return fmt::format("{:.3g}, limit {:.3g}", p.value, p.limit); }

}  // namespace

std::string blame_key(const Record& record, Part part, std::uint64_t seed, std::uint64_t index) {
  return fmt::format("{} {} {} {} {} {} {} {}", record.kernel->id, name(record.kernel->math), info(record.format).name,
                     name(record.executor), record.family, name(part), seed, index);
}

std::vector<Investigation> investigations(const Report& report) {
  std::vector<Investigation> list;
  for (const Record& r : report.result.records) {
    if (r.kernel->form == Form::broken) continue;
    for (const Part part : parts(r.kernel->problem)) add_part(report, r, part, list);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Investigation& a, const Investigation& b) { return worse_ratio(a.ratio, b.ratio); });
  return list;
}

std::vector<InvestigationGroup> group_investigations(const std::vector<Investigation>& list) {
  std::vector<InvestigationGroup> groups;
  for (const Investigation& i : list) {
    const Record& r = *i.record;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const InvestigationGroup& g) {
      const Record& other = *g.worst.record;
      return other.kernel == r.kernel && other.executor == r.executor && other.family == r.family &&
             g.worst.part == i.part && g.worst.bias == i.bias;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), InvestigationGroup{i, "", 0, 0});
    group->formats += fmt::format("{}{}", group->formats.empty() ? "" : ",", info(r.format).name);
    group->elements += i.elements;
    group->of += i.of;
  }
  return groups;
}

std::string investigation_text(const InvestigationGroup& group) {
  const Investigation& i = group.worst;
  const std::string_view tensor = name(i.part);
  if (i.bias) {
    const ErrorStats& s = (*i.record)[i.part];
    return fmt::format("biased: mean error of {} is {} {}, chance allows {} ({} rows of {})", tensor,
                       short_number(s.bias()), i.part == Part::o ? "u sum p|v|" : "u max(1, |lse|)",
                       short_number(s.bias_limit()), s.bias_rows, info(i.record->format).name);
  }
  return fmt::format("{} of {} elements of {} above the probable bound, worst {} of it", group.elements, group.of,
                     tensor, short_number(i.ratio));
}

std::string investigation_place(const Investigation& i) {
  if (i.bias) return "";
  return fmt::format("{}[{}] of {}, {}", name(i.part), i.witness.index, i.case_line, i.assumption.key);
}

std::string investigation_summary(const Report& report, const std::vector<Investigation>& list) {
  std::uint64_t elements = 0, biased = 0;
  std::set<const Record*> above;
  for (const Investigation& i : list) {
    if (i.bias) {
      ++biased;
    } else {
      elements += i.elements;
      above.insert(i.record);
    }
  }
  const auto judged = std::count_if(report.result.records.begin(), report.result.records.end(),
                                    [](const Record& r) { return r.kernel->form != Form::broken; });
  return fmt::format("{} elements above their probable bound in {} of {} kernel x format x family, {} outputs biased",
                     elements, above.size(), judged, biased);
}

std::vector<Assumption> blamed_assumptions(const std::vector<Investigation>& list) {
  std::vector<Assumption> blamed;
  for (const Investigation& i : list) {
    const bool known =
        std::any_of(blamed.begin(), blamed.end(), [&](const Assumption& a) { return a.key == i.assumption.key; });
    if (!i.bias && !known) blamed.push_back(i.assumption);
  }
  std::sort(blamed.begin(), blamed.end(), [](const Assumption& a, const Assumption& b) { return a.key < b.key; });
  return blamed;
}

Refined refined_of(const std::vector<Record>& records) {
  Refined sum;
  for (const Record& r : records) {
    sum.elements += r.refined;
    sum.of += r.o.elements;
  }
  return sum;
}

std::string refined_line(const std::vector<Record>& records) {
  const Refined r = refined_of(records);
  if (r.of == 0) return "";
  return fmt::format(
      "Closed form of the bound vacuous, linear-fractional form solved: {} of {} elements of o ({:.3g} %).\n",
      r.elements, r.of, 100.0 * static_cast<double>(r.elements) / static_cast<double>(r.of));
}

std::vector<DomainLine> domain_lines(const std::vector<Record>& records) {
  std::vector<DomainLine> lines;
  for (const Record& r : records) {
    if (r.kernel->form == Form::broken) continue;
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const DomainLine& l) { return l.kernel == r.kernel && l.family == r.family; });
    if (line == lines.end()) line = lines.insert(lines.end(), DomainLine{r.kernel, r.family, {}});
    line->domain.merge(r.domain);
  }
  return lines;
}

bool near_a_limit(const DomainStats& domain) {
  const auto* nearest = domain.nearest();
  return domain.outside > 0 || (nearest != nullptr && nearest->second.nearest.load() >= kNearLimit);
}

std::string outside_text(const DomainStats& domain) {
  if (domain.outside == 0) return "";
  std::string text = fmt::format("{} of {} rows outside:", domain.outside, domain.rows);
  const char* separator = " ";
  for (const auto& [name, s] : domain.by_name) {
    if (s.outside == 0) continue;
    // A column's accumulator (Bound::domain_of) fails by an amount that is not kept: load 1 exactly.
    const std::string worst = s.worst.load() > 1 ? ", worst " + extreme_text(s.worst) : "";
    text += fmt::format("{}{} ({}{})", separator, one_line(name), s.outside, worst);
    separator = "; ";
  }
  return text;
}

std::string nearest_text(const DomainStats& domain) {
  const auto* nearest = domain.nearest();
  if (nearest == nullptr) return "";
  const Precondition& p = nearest->second.nearest;
  return fmt::format("{} of the limit: {} ({})", short_number(p.load()), one_line(nearest->first), extreme_text(p));
}

}  // namespace flashproof
