#include "reports/record/read_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/record/record_claims.h"

namespace flashproof {
namespace {

/// The value of an enumeration that has this name.
template <class E>
E one_of(const JsonAt& at, std::span<const E> values, std::string_view (*name_of)(E)) {
  const std::string text = at.text();
  std::string legal;
  for (const E value : values) {
    if (name_of(value) == text) return value;
    legal += fmt::format("{}{}", legal.empty() ? "" : ", ", name_of(value));
  }
  at.refuse(legal);
}

/// Beyond every run, and what the test of how often a kernel fails takes in milliseconds.
constexpr std::uint64_t kMostCases = 1'000'000'000;

constexpr Form kForms[] = {Form::published, Form::hardened, Form::broken};
constexpr Executor kExecutors[] = {Executor::cpu, Executor::cuda, Executor::ptx};
constexpr Math kMath[] = {Math::det, Math::native};

std::string_view format_name(Format format) { return info(format).name; }

Precondition read_extreme(const JsonAt& of, std::string_view key) {
  if (!of.has(key)) return {"", 0, std::numeric_limits<double>::infinity()};
  const JsonAt at = of[key];
  return {"", at["value"].number(), at["limit"].number()};
}

DomainStats read_domain(const JsonAt& at) {
  DomainStats stats;
  stats.rows = at["rows"].count();
  stats.outside = at["outside"].count();
  const JsonAt list = at["preconditions"];
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt one = list.item(i);
    stats.by_name[one["name"].text()] = {count_in(one, "rows_outside"), read_extreme(one, "worst_outside"),
                                         read_extreme(one, "nearest_inside")};
  }
  return stats;
}

ProfileAxis read_axis(const JsonAt& list) {
  ProfileAxis axis;
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt point = list.item(i);
    if (point.items() != 4) point.refuse("[at, cases, max_ratio, max_ulp]");
    const double edge = point.item(0).number();
    if (!(edge >= 0 && edge <= std::numeric_limits<double>::max())) point.item(0).refuse("0 or a power of two");
    axis[octave_of(edge)] = {point.item(1).count(), point.item(2).number(), point.item(3).number()};
  }
  return axis;
}

HeatMap read_heat(const JsonAt& at) {
  HeatMap map;
  if (at.null()) return map;
  const auto extent = [&](const char* key) {
    const std::uint64_t value = at[key].count();
    if (value < 1 || value > static_cast<std::uint64_t>(kMaxExtent)) at[key].refuse(fmt::format("1..{}", kMaxExtent));
    return static_cast<std::int64_t>(value);
  };
  map = {at["tensor"].text_of({"o", "lse", "dq", "dk", "dv"}),
         extent("rows"),
         extent("cols"),
         extent("cell_rows"),
         extent("cell_cols"),
         {}};
  const JsonAt cells = at["cells"];
  for (std::size_t i = 0; i < cells.items(); ++i) map.cells.push_back(cells.item(i).text());
  try {
    validate(map);
  } catch (const UsageError& e) {
    cells.refuse(e.what());
  }
  return map;
}

std::optional<WorstCase> read_worst(const JsonAt& record) {
  const JsonAt at = record["witness"];
  if (at.null()) return std::nullopt;
  WorstCase worst;
  worst.family = record["family"].name();
  worst.seed = at["seed"].count();
  worst.verdict = read_verdict(at["verdict"]);
  worst.verdict.detail = at["detail"].text();
  ElementFinding& e = worst.element;
  e.tensor = at["tensor"].text_of({"", "o", "lse", "dq", "dk", "dv"});
  e.index = at["index"].count();
  e.computed = at["computed"].number();
  e.exact = at["exact"].number();
  e.error = at["error"].number();
  e.ratio = at["ratio"].number();
  const JsonAt terms = record["terms"];
  const std::pair<const char*, double*> parts[] = {
      {"weights", &e.bound.weights}, {"numerator", &e.bound.numerator}, {"denominator", &e.bound.denominator},
      {"output", &e.bound.output},   {"probable", &e.bound.probable},   {"drift", &e.bound.drift}};
  for (const auto& [key, to] : parts) *to = terms[key].number();
  if (at.has("file")) worst.file = at["file"].text();
  worst.heat = read_heat(record["heat"]);
  return worst;
}

/// problem.algorithm.form, three names.
std::string read_id(const JsonAt& at) {
  const std::string id = at.text();
  std::string_view rest = id;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const std::size_t dot = rest.find('.');
    more = dot != std::string_view::npos;
    if (!is_name(rest.substr(0, dot))) at.refuse("a kernel's id, problem.algorithm.form");
    rest.remove_prefix(more ? dot + 1 : rest.size());
  }
  if (parts != 3) at.refuse("a kernel's id, problem.algorithm.form");
  return id;
}

/// Exactly the cases of the counts, each in one class.
void read_classes(const JsonAt& at, Record& r) {
  const JsonAt classes = at["seeds_by_class"];
  if (!classes.value().is_object()) classes.refuse("an object");
  const auto set_of = [&](std::string_view key, std::uint64_t count) {
    SeedSet set;
    if (!classes.has(key)) {
      if (count > 0) classes.refuse(fmt::format("one with the seeds of {} cases of {}", count, key));
      return set;
    }
    const JsonAt list = classes[key];
    std::vector<SeedSet::Interval> told;
    for (std::size_t i = 0; i < list.items(); ++i) {
      if (list.item(i).items() != 2) list.item(i).refuse("[first, last]");
      told.emplace_back(list.item(i).item(0).count(), list.item(i).item(1).count());
      if (told.back().first > told.back().second) list.item(i).refuse("[first, last] with first <= last");
      set.add(told.back());
    }
    if (set.intervals() != told || !set.without(r.seeds).empty() || set.size() != count || count == 0) {
      list.refuse(fmt::format("the {} of the record's seeds that are {}, ascending", count, key));
    }
    return set;
  };
  SeedSet all;
  std::uint64_t sum = 0;
  const auto take = [&](SeedSet set) {
    sum += set.size();
    all.merge(set);
    return set;
  };
  std::size_t known = 0;
  for (std::size_t i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (kind == VerdictKind::pass || kind == VerdictKind::fail) continue;
    r.seeds_by_kind[i] = take(set_of(name(kind), r.by_case[i]));
    known += classes.has(name(kind)) ? 1 : 0;
  }
  for (std::size_t i = 1; i < kFailures; ++i) {
    const auto failure = static_cast<Failure>(i);
    r.seeds_by_failure[i] = take(set_of(name(failure), r.failures_by_case[i]));
    known += classes.has(name(failure)) ? 1 : 0;
  }
  if (known != classes.value().size()) classes.refuse("seeds by verdict and failure, but for pass and fail");
  if (all.size() != sum) classes.refuse("sets with no seed in common");
  if (sum + r.count(VerdictKind::pass) != r.cases) classes.refuse("a class for each case that does not pass");
}

void read_base(const JsonAt& at, Record& r) {
  r.format = one_of(at["format"], std::span<const Format>(kStorageFormats), format_name);
  r.executor = one_of(at["executor"], std::span<const Executor>(kExecutors), name);
  r.family = at["family"].name();
  r.cases = at["cases"].count();
  if (r.cases > kMostCases) at["cases"].refuse(fmt::format("at most {}", kMostCases));
  const JsonAt seeds = at["seeds"];
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < seeds.items(); ++i) {
    if (seeds.item(i).items() != 2) seeds.item(i).refuse("[first, last]");
    const SeedSet::Interval interval{seeds.item(i).item(0).count(), seeds.item(i).item(1).count()};
    if (interval.first > interval.second) seeds.item(i).refuse("[first, last] with first <= last");
    // One interval may hold more than 2^64 − 1 seeds, and so may a list of them: no run has so many.
    const std::uint64_t more = interval.second - interval.first;
    if (more >= r.cases - count) seeds.refuse(fmt::format("the {} seeds of the cases, each once", r.cases));
    r.seeds.add(interval);
    count += more + 1;
  }
  if (count != r.cases || r.seeds.size() != r.cases)
    seeds.refuse(fmt::format("the {} seeds of the cases, each once", r.cases));
  r.by_case = read_kinds(at["counts"]["cases"]);
  std::uint64_t cases = 0;
  for (const std::uint64_t n : r.by_case) cases += n;
  if (cases != r.cases) at["counts"]["cases"].refuse(fmt::format("counts that add up to {}", r.cases));
  r.failures_by_case = read_failures(at["failures"]["cases"]);
  read_classes(at, r);
  r.domain = read_domain(at["domain"]);
  r.power = read_power(at["power"]);
  r.profile = {read_axis(at["profile"]["length"]), read_axis(at["profile"]["magnitude"]),
               read_axis(at["profile"]["merges"])};
  r.worst = read_worst(at);
  if (!r.worst && r.verdict() != VerdictKind::unsupported) at["witness"].refuse("the worst case");
  const JsonAt laws = at["laws"];
  if (!laws.value().is_object()) laws.refuse("an object");
  for (const auto& entry : laws.value().items()) r.laws[entry.key()] = read_kinds(laws[entry.key()]);
  if (!at["ledger"].null()) r.ledger = at["ledger"]["ratio"].number();
}

ErrorStats read_stats(const JsonAt& figures, const char* tensor) {
  const JsonAt state = figures[tensor]["state"];
  try {
    return ErrorStats::deserialize(state.text());
  } catch (const UsageError& e) {
    state.refuse(std::string("what serialize() writes: ") + e.what());
  }
}

std::string read_defect(const JsonAt& at) { return at["defect"].null() ? "" : at["defect"].text(); }

}  // namespace

Record read_record(const JsonAt& at, KernelNames& names) {
  Record r;
  read_base(at, r);
  const ProblemKind problem = one_of(at["problem"], std::span<const ProblemKind>(kProblemKinds), name);
  r.kernel = &names.kernel(at.place(), read_id(at["kernel"]), one_of(at["math"], std::span<const Math>(kMath), name),
                           problem, one_of(at["form"], std::span<const Form>(kForms), name), read_defect(at));
  const JsonAt figures = at["figures"];
  for (const Part part : parts(problem)) r[part] = read_stats(figures, std::string(name(part)).c_str());
  if (problem != ProblemKind::backward) r.refined = at["refined"].count();
  return r;
}

}  // namespace flashproof
