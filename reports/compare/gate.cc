#include "reports/compare/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/generators/glob.h"
#include "reference/system/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

class Judge {
 public:
  explicit Judge(GateResult& result) : result_(result) {}

  /// One limit on one thing: counted, and a reason where it does not hold.
  void check(bool holds, const std::string& id, const std::string& text, const std::string& replay = {}) {
    ++result_.checked;
    if (!holds) result_.reasons.push_back({id, text, replay, nullptr});
  }

 private:
  GateResult& result_;
};

/// Nothing measured is no pass: a kernel that ends in an error has no error/bound that could be above a limit. `base`: null
/// for a record that is new.
void judge_measured(const Rule& rule, const RecordOf* base, const RecordOf& head, Judge& judge) {
  if (!rule.about_errors() || head.max_ratio != -1) return;
  const bool lost = base != nullptr && base->max_ratio != -1;
  const std::uint64_t fails = failing(head.classes);
  const std::string key = head.key.text();
  judge.check(!lost && fails == 0, fmt::format("{}/not-measured/{}", rule.name, key),
              fmt::format("{}: no error was measured, {} of {} cases fail{}", key, fails, head.record->cases,
                          lost ? "; BASE has error/bound " + short_number(base->max_ratio) : ""),
              head.replay);
}

/// A record that BASE has not: worse than none where it fails, and held to the limits that need no BASE.
void judge_new(const Rule& rule, const RecordOf& head, Judge& judge) {
  const std::string key = head.key.text();
  if (rule.no_class_worse) {
    const std::uint64_t fails = failing(head.classes);
    judge.check(fails == 0, fmt::format("{}/class/{}", rule.name, key),
                fmt::format("{}: is new, and {} of {} cases fail ({})", key, fails, head.record->cases,
                            counts_text(ClassCounts{}, head.classes)),
                head.replay);
  }
  judge_measured(rule, nullptr, head, judge);
  if (rule.max_ratio && head.max_ratio != -1) {
    judge.check(
        head.max_ratio <= *rule.max_ratio, fmt::format("{}/ratio/{}", rule.name, key),
        fmt::format("{}: is new, and error/bound {} is above {}", key, short_number(head.max_ratio), *rule.max_ratio),
        head.replay);
  }
}

void judge_errors(const Rule& rule, const RecordChange& r, Judge& judge) {
  const std::string key = r.key().text();
  const auto id = [&](std::string_view what) { return fmt::format("{}/{}/{}", rule.name, what, key); };
  const double before = r.base->max_ratio, after = r.head->max_ratio;
  const std::string ratios = fmt::format("error/bound {} -> {}", short_number(before), short_number(after));
  judge_measured(rule, r.base, *r.head, judge);
  if (rule.max_ratio && after != -1) {
    judge.check(after <= *rule.max_ratio, id("ratio"),
                fmt::format("{}: error/bound {} is above {}", key, short_number(after), *rule.max_ratio),
                r.head->replay);
  }
  if (rule.ratio_growth_percent && after != -1 && before != -1) {
    const bool holds =
        std::isnan(before) || after <= rule.ratio_floor || after <= before * (1 + *rule.ratio_growth_percent / 100);
    judge.check(holds, id("growth"), fmt::format("{}: {}, more than {} %", key, ratios, *rule.ratio_growth_percent),
                r.head->replay);
  }
  for (const auto& [tensor, base] : r.base->figures) {
    const auto found = r.head->figures.find(tensor);
    if (found == r.head->figures.end()) continue;
    const TensorFigures& head = found->second;
    if (rule.ulp_growth) {
      const bool holds = std::isnan(base.max_ulp) || head.max_ulp <= base.max_ulp + *rule.ulp_growth;
      judge.check(holds, id("ulp-" + tensor),
                  fmt::format("{}: {} worst {} -> {} ulp, more than {} more", key, tensor, short_number(base.max_ulp),
                              short_number(head.max_ulp), *rule.ulp_growth),
                  r.head->replay);
    }
    if (rule.p99_growth_octaves && base.octaves.elements() > 0 && head.octaves.elements() > 0) {
      const int from = base.octaves.quantile(0.99), to = head.octaves.quantile(0.99);
      judge.check(octave_steps(from, to) <= *rule.p99_growth_octaves, id("p99-" + tensor),
                  fmt::format("{}: {} p99 {} -> {} ulp, {} octaves up, more than {}", key, tensor, octave_text(from),
                              octave_text(to), octave_steps(from, to), *rule.p99_growth_octaves),
                  r.head->replay);
    }
  }
}

void judge_records(const Rule& rule, const Comparison& c, Judge& judge, bool& selected) {
  for (const RecordChange& r : c.records) {
    if (!rule.takes(r.key())) continue;
    selected = true;
    if (rule.no_class_worse) {
      judge.check(!r.classes.worse, fmt::format("{}/class/{}", rule.name, r.key().text()),
                  fmt::format("{}: {} ({})", r.key().text(), to_string(r.classes), moves_text(r.classes)), r.replay());
    }
    judge_errors(rule, r, judge);
    if (rule.no_missing) judge.check(true, "", "");
  }
  for (const Key& key : c.only_head) {
    if (!rule.takes(key)) continue;
    selected = true;
    judge_new(rule, c.head->records.at(key), judge);
  }
  if (!rule.no_missing) return;
  for (const Key& key : c.only_base) {
    if (!rule.takes(key)) continue;
    selected = true;
    judge.check(false, fmt::format("{}/missing/{}", rule.name, key.text()),
                key.text() + ": is in BASE and not in HEAD");
  }
}

void judge_speed(const Rule& rule, const Speed& speed, Judge& judge, bool& selected) {
  const double limit = 1 + *rule.slower_percent / 100;
  for (const SpeedChange& s : speed.changes) {
    if (!rule.takes_benchmark(s.name)) continue;
    selected = true;
    const std::string id = fmt::format("{}/slower/{}", rule.name, s.name);
    // No verdict is no pass: too few repetitions would otherwise switch the rule off.
    const bool told = s.verdict == SpeedVerdict::slower || s.verdict == SpeedVerdict::faster ||
                      s.verdict == SpeedVerdict::no_change_shown;
    if (!told) {
      judge.check(false, fmt::format("{}/no-verdict/{}", rule.name, s.name), fmt::format("{}: {}", s.name, s.text()));
      continue;
    }
    judge.check(s.interval.lower <= limit, id,
                fmt::format("{}: {}, and more than {} % for certain", s.name, s.text(), *rule.slower_percent));
    if (s.interval.lower > limit) continue;
    judge.check(s.interval.upper <= limit, fmt::format("{}/undecided/{}", rule.name, s.name),
                fmt::format("{}: {}; that it is at most {} % slower takes more repetitions or rounds", s.name, s.text(),
                            *rule.slower_percent));
  }
  for (const auto& [name, why] : speed.missing) {
    if (!rule.takes_benchmark(name)) continue;
    selected = true;
    judge.check(false, fmt::format("{}/missing-benchmark/{}", rule.name, name),
                fmt::format("{}: {}, so HEAD's speed is not known", name, why));
  }
}

void apply(const std::vector<Waiver>& waivers, std::chrono::year_month_day today, GateResult& result) {
  for (const Waiver& w : waivers) {
    const bool expired = today > w.expires;
    if (expired) result.expired.push_back(&w);
    bool used = false;
    for (Reason& reason : result.reasons) {
      if (!glob_match(w.id, reason.id)) continue;
      used = true;
      if (!expired && reason.waiver == nullptr) reason.waiver = &w;
    }
    if (!used) result.unused.push_back(&w);
  }
}

}  // namespace

bool GateResult::passes() const {
  return expired.empty() && std::ranges::all_of(reasons, [](const Reason& r) { return r.waiver != nullptr; });
}

GateResult gate(const Policy& policy, const std::vector<Waiver>& waivers, std::chrono::year_month_day today,
                const Comparison& comparison, const Speed* speed) {
  check_waivers(policy, waivers);
  GateResult result;
  Judge judge(result);
  for (const Rule& rule : policy.rules) {
    if (rule.about_records() && comparison.other_cases > 0) {
      throw UsageError(
          fmt::format("{}: rule {}: {} of {} records ran other cases in BASE and HEAD; legal: reports of the same "
                      "seed and tier, not partial",
                      policy.file, rule.name, comparison.other_cases, comparison.records.size()));
    }
    if (rule.slower_percent && speed == nullptr) {
      throw UsageError(fmt::format("{}: rule {}: slower_percent needs times: --bench BASE.json HEAD.json or --measure",
                                   policy.file, rule.name));
    }
    bool selected = false;
    if (rule.about_records()) judge_records(rule, comparison, judge, selected);
    if (rule.slower_percent) judge_speed(rule, *speed, judge, selected);
    if (!rule.allow_empty) {
      judge.check(selected, rule.name + "/selects-nothing",
                  fmt::format("rule {} selects nothing that was run (allow_empty = true permits it)", rule.name));
    }
  }
  apply(waivers, today, result);
  return result;
}

}  // namespace flashproof::compare
