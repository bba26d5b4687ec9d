#include "reports/compare/speed/speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/record/json_at.h"

namespace flashproof::compare {
namespace {

double seconds(const JsonAt& entry, const std::string& name) {
  const std::string unit = entry["time_unit"].text();
  const double factor = unit == "ns" ? 1e-9 : unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : unit == "s" ? 1 : 0;
  if (factor == 0) entry["time_unit"].refuse("ns, us, ms or s");
  // The time that Google Benchmark itself goes by: its own, or the program's where the name says so.
  const bool real = name.find("/manual_time") != std::string::npos || name.find("/real_time") != std::string::npos;
  const JsonAt time = entry[real ? "real_time" : "cpu_time"];
  const double value = time.number();
  if (!(value > 0) || !std::isfinite(value)) time.refuse("a positive number");
  return value * factor;
}

void add_benchmark(BenchFile& file, const JsonAt& entry) {
  const std::string name = one_line(entry.has("run_name") ? entry["run_name"].text() : entry["name"].text());
  if (entry.has("run_type") && entry["run_type"].text() == "aggregate") return;
  if (entry.has("error_occurred") && entry["error_occurred"].flag()) {
    file.errors[name] = one_line(entry.has("error_message") ? entry["error_message"].text() : "no reason given");
    return;
  }
  auto& times = file.times[name];
  times.push_back(seconds(entry, name));
  if (times.size() > kMostRepetitions)
    entry.refuse(fmt::format("one of at most {} repetitions of {}", kMostRepetitions, name));
}

std::string machine_of(const JsonAt& context) {
  std::string text;
  for (const char* key : {"num_cpus", "caches", "device"}) {
    if (context.has(key))
      text += context[key].value().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ";";
  }
  return text;
}

SpeedVerdict verdict_of(const RatioInterval& interval) {
  if (!interval.possible) return SpeedVerdict::too_few;
  if (interval.lower > 1) return SpeedVerdict::slower;
  return interval.upper < 1 ? SpeedVerdict::faster : SpeedVerdict::no_change_shown;
}

using Rounds = std::vector<std::pair<BenchFile, BenchFile>>;

bool side_by_side(const Rounds& rounds) {
  if (rounds.size() > 1) return true;
  const auto& [base, head] = rounds.front();
  return !base.rounds.empty() && base.rounds == head.rounds;
}

void set_paired(SpeedChange& change, const Rounds& rounds, double alpha) {
  std::vector<double> bases, heads, ratios;
  if (rounds.size() == 1) {
    bases = rounds.front().first.times.at(change.name);
    heads = rounds.front().second.times.at(change.name);
    if (bases.size() != heads.size()) {
      throw UsageError(fmt::format("{} and {}: rounds of one measurement, yet {} and {} repetitions of {}",
                                   rounds.front().first.name, rounds.front().second.name, bases.size(), heads.size(),
                                   change.name));
    }
  } else {
    for (const auto& [base, head] : rounds) {
      bases.push_back(median(base.times.at(change.name)));
      heads.push_back(median(head.times.at(change.name)));
    }
  }
  for (std::size_t i = 0; i < bases.size(); ++i) ratios.push_back(heads[i] / bases[i]);
  change.paired = true;
  change.base_count = change.head_count = ratios.size();
  change.base_median = median(std::move(bases));
  change.head_median = median(std::move(heads));
  change.interval = paired_interval(std::move(ratios), alpha);
  change.verdict = verdict_of(change.interval);
}

void set_unpaired(SpeedChange& change, const BenchFile& base, const BenchFile& head, double alpha) {
  const std::vector<double>&x = base.times.at(change.name), &y = head.times.at(change.name);
  change.base_count = x.size();
  change.head_count = y.size();
  change.base_median = median(x);
  change.head_median = median(y);
  change.interval = unpaired_interval(x, y, alpha);
  change.verdict = drifts(x, alpha / 2) || drifts(y, alpha / 2) ? SpeedVerdict::drifts : verdict_of(change.interval);
}

double percent(double ratio) { return 100 * (ratio - 1); }

}  // namespace

BenchFile bench_of(const nlohmann::json& json, const std::string& name) {
  const JsonAt top(json, name);
  if (!json.is_object() || !json.contains("context") || !json.contains("benchmarks")) {
    throw UsageError(name + ": no JSON of Google Benchmark: it has no \"context\" and \"benchmarks\"");
  }
  BenchFile file;
  file.name = name;
  const JsonAt context = top["context"];
  file.machine = machine_of(context);
  if (context.has("flashproof_rounds")) file.rounds = context["flashproof_rounds"].text();
  const JsonAt list = top["benchmarks"];
  for (std::size_t i = 0; i < list.items(); ++i) add_benchmark(file, list.item(i));
  if (file.times.empty() && file.errors.empty()) {
    throw UsageError(name +
                     ": no repetitions; legal: JSON made with --benchmark_repetitions=N and without "
                     "--benchmark_report_aggregates_only");
  }
  return file;
}

BenchFile read_bench(const std::string& file) { return bench_of(read_json(file), printable(file, 200)); }

std::string SpeedChange::text() const {
  const double by = percent(interval.ratio), lower = percent(interval.lower), upper = percent(interval.upper);
  switch (verdict) {
    case SpeedVerdict::slower:
      return fmt::format("slower by {:.1f} % [{:.1f}, {:.1f}]", by, lower, upper);
    case SpeedVerdict::faster:
      return fmt::format("faster by {:.1f} % [{:.1f}, {:.1f}]", -by, -upper, -lower);
    case SpeedVerdict::no_change_shown:
      return fmt::format("no change shown [{:+.1f}, {:+.1f}] %", lower, upper);
    case SpeedVerdict::too_few:
      return fmt::format("no verdict: {} {}, this many comparisons need {}", std::min(base_count, head_count),
                         paired ? "rounds" : "repetitions", interval.needed);
    case SpeedVerdict::drifts:
      return "no verdict: the second half of the repetitions differs from the first; measure in rounds";
    case SpeedVerdict::other_machine:
      return "no verdict: measured on different machines";
  }
  return "?";
}

std::string Speed::how() const {
  const bool paired = !changes.empty() && changes.front().paired;
  const auto m = static_cast<double>(std::max<std::size_t>(1, changes.size()));
  return fmt::format("{}; each interval {:.6g} %, all {} together {:.6g} %",
                     paired ? "rounds of both, one after the other: median of HEAD/BASE, interval by order statistics"
                            : "one process each: median of all ratios HEAD/BASE, interval by order statistics of them "
                              "(what differs between two runs of one program is not in it; rounds are)",
                     100 * (1 - kSpeedLevel / m), changes.size(), 100 * (1 - kSpeedLevel));
}

Speed compare_speed(const Rounds& rounds) {
  Speed speed;
  const auto in_all = [&](const std::string& name) {
    return std::ranges::all_of(
        rounds, [&](const auto& r) { return r.first.times.contains(name) && r.second.times.contains(name); });
  };
  bool one_machine = true;
  for (const auto& [base, head] : rounds) {
    one_machine = one_machine && base.machine == rounds.front().first.machine && head.machine == base.machine;
    for (const BenchFile* file : {&base, &head}) {
      for (const auto& [name, why] : file->errors)
        speed.not_run.push_back(fmt::format("{} ({}: {})", name, file->name, why));
    }
  }
  const auto missing = [&](const std::string& name) {
    for (const auto& [base, head] : rounds) {
      if (const auto error = head.errors.find(name); error != head.errors.end()) return "did not run: " + error->second;
    }
    for (const auto& [base, head] : rounds) {
      if (!head.times.contains(name)) return "is not in " + head.name;
    }
    return std::string("is not in every round");
  };
  std::vector<std::string> names;
  for (const auto& [name, times] : rounds.front().first.times) {
    if (in_all(name)) {
      names.push_back(name);
    } else {
      speed.only_base.push_back(name);
      speed.missing[name] = missing(name);
    }
  }
  for (const auto& [base, head] : rounds) {
    for (const auto& [name, why] : head.errors) speed.missing[name] = missing(name);
  }
  for (const auto& [name, times] : rounds.front().second.times) {
    if (!rounds.front().first.times.contains(name)) speed.only_head.push_back(name);
  }
  if (names.empty()) {
    throw UsageError(
        fmt::format("{} and {} have no benchmark in common", rounds.front().first.name, rounds.front().second.name));
  }
  const double alpha = kSpeedLevel / static_cast<double>(names.size());
  for (const std::string& name : names) {
    SpeedChange change;
    change.name = name;
    if (side_by_side(rounds))
      set_paired(change, rounds, alpha);
    else
      set_unpaired(change, rounds.front().first, rounds.front().second, alpha);
    if (!one_machine) change.verdict = SpeedVerdict::other_machine;
    speed.changes.push_back(std::move(change));
  }
  return speed;
}

}  // namespace flashproof::compare
