#include "reports/compare/gate.h"

#include <cmath>
#include <random>

#include "reports/compare/test/compare_fixture.h"
#include "reports/compare/toml_reader.h"

namespace flashproof::compare {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::year_month_day kToday = 2026y / 11 / 22;

/// A comparison, judged.
struct Gated {
  Document base, head;
  Comparison comparison;
  std::vector<Waiver> waivers;
  GateResult result;
  Gated(const Report& a, const Report& b, const std::string& policy, const std::string& exceptions = "",
        const Speed* speed = nullptr)
      : base(document(a, "a")),
        head(document(b, "b")),
        comparison(compare(base, head, false)),
        waivers(parse_waivers(exceptions, "w.toml")),
        result(gate(parse_policy(policy, "p.toml"), waivers, kToday, comparison, speed)) {}
  std::vector<std::string> ids() const {
    std::vector<std::string> list;
    for (const Reason& r : result.reasons) list.push_back(r.id);
    return list;
  }
};

using Ids = std::vector<std::string>;
const std::string kClasses = "[[rule]]\nname = \"r\"\nno_class_worse = true\n";

TEST(gate, a_report_passes_against_itself_and_the_limits_are_counted) {
  const Gated g(
      small_report(), small_report(),
      kClasses +
          "max_ratio = 1\nratio_growth_percent = 0\nulp_growth = 0\np99_growth_octaves = 0\nno_missing = true\n");
  EXPECT_TRUE(g.result.passes());
  EXPECT_TRUE(g.result.reasons.empty());
  EXPECT_EQ(g.result.checked, 4U * 7 + 1);
}

TEST(gate, a_class_that_worsens_fails_and_one_that_betters_does_not) {
  Report worse = small_report();
  fail_cases(record_of(worse, 1), Failure::silently_wrong, 2);
  const Gated g(small_report(), worse, kClasses);
  EXPECT_FALSE(g.result.passes());
  EXPECT_EQ(g.ids(), Ids{"r/class/softmax.a.hardened/f32/cpu/det/ties"});
  EXPECT_THAT(g.result.reasons[0].text, HasSubstr("pass -> silently_wrong (2 pass -> silently_wrong (first seed 0))"));
  EXPECT_THAT(g.result.reasons[0].replay, HasSubstr("./flashproof replay softmax:ties:0"));
  EXPECT_TRUE(Gated(worse, small_report(), kClasses).result.passes());
  EXPECT_TRUE(Gated(small_report(), worse, "[[rule]]\nname = \"r\"\nkernel = \"softmax.b.*\"\nno_class_worse = true\n")
                  .result.passes());
}

TEST(gate, every_limit_on_errors_holds_up_to_its_value_and_not_beyond) {
  Report head = small_report();
  record_of(head, 0).o = made_stats(0.55, 2.0, {{-2, 97}, {0, 1}, {1, 2}});
  const std::string key = "softmax.a.hardened/f32/cpu/det/normal";
  const auto ids = [&](const std::string& limit) {
    return Gated(small_report(), head, "[[rule]]\nname = \"r\"\n" + limit).ids();
  };
  EXPECT_EQ(ids("ratio_growth_percent = 9.9\n"), Ids{"r/growth/" + key});
  EXPECT_EQ(ids("ratio_growth_percent = 10.1\n"), Ids{});
  EXPECT_EQ(ids("ratio_growth_percent = 0\nratio_floor = 0.55\n"), Ids{});
  EXPECT_EQ(ids("ratio_growth_percent = 0\nratio_floor = 0.54\n"), Ids{"r/growth/" + key});
  EXPECT_EQ(ids("max_ratio = 0.54\n"), Ids{"r/ratio/" + key});
  EXPECT_EQ(ids("max_ratio = 0.55\n"), Ids{});
  EXPECT_EQ(ids("ulp_growth = 0.49\n"), Ids{"r/ulp-o/" + key});
  EXPECT_EQ(ids("ulp_growth = 0.5\n"), Ids{});
  EXPECT_EQ(ids("p99_growth_octaves = 0\n"), Ids{"r/p99-o/" + key});
  EXPECT_EQ(ids("p99_growth_octaves = 1\n"), Ids{});
  record_of(head, 0).o.max_ratio = NAN;
  EXPECT_EQ(ids("max_ratio = 1000\n"), Ids{"r/ratio/" + key});
  EXPECT_EQ(ids("ratio_growth_percent = 1000000\n"), Ids{"r/growth/" + key});
  // From NaN to a number is no growth.
  Report nan = small_report();
  record_of(nan, 0).o.max_ratio = NAN;
  record_of(nan, 0).o.max_ulp = NAN;
  EXPECT_EQ(Gated(nan, small_report(), "[[rule]]\nname = \"r\"\nratio_growth_percent = 0\nulp_growth = 0\n").ids(),
            Ids{});
}

TEST(gate, a_record_that_is_new_is_judged_by_itself) {
  Report base = small_report(), head = small_report();
  fail_cases(record_of(head, 3), Failure::silently_wrong, 4);
  record_of(head, 3).o.max_ratio = 1e9;
  base.result.records.erase(base.result.records.begin() + 3);
  const std::string key = "softmax.b.hardened/f32/cpu/det/ties";
  const Gated g(base, head, kClasses + "max_ratio = 1\n");
  EXPECT_EQ(g.ids(), (Ids{"r/class/" + key, "r/ratio/" + key}));
  EXPECT_THAT(g.result.reasons[0].text, HasSubstr("is new, and 4 of 12 cases fail"));
  EXPECT_THAT(g.result.reasons[0].replay, HasSubstr("./flashproof replay softmax:ties:3"));
  record_of(head, 3) = made_record("softmax.b.hardened", "ties");
  EXPECT_EQ(Gated(base, head, kClasses + "max_ratio = 1\n").ids(), Ids{});
  // A rule about new records alone selects something.
  EXPECT_EQ(Gated(base, head, kClasses + "kernel = \"softmax.b.*\"\nfamily = \"ties\"\n").ids(), Ids{});
}

TEST(gate, nothing_measured_is_no_pass) {
  Report head = small_report();
  fail_cases(record_of(head, 0), Failure::error, 12);
  record_of(head, 0).o = {};
  const std::string key = "softmax.a.hardened/f32/cpu/det/normal", rule = "[[rule]]\nname = \"r\"\n";
  for (const std::string limit : {"max_ratio = 1\n", "ratio_growth_percent = 10\n", "ulp_growth = 1\n"}) {
    const Gated g(small_report(), head, rule + limit);
    EXPECT_EQ(g.ids(), Ids{"r/not-measured/" + key}) << limit;
    EXPECT_THAT(g.result.reasons[0].text, HasSubstr("12 of 12 cases fail; BASE has error/bound 0.5"));
    EXPECT_EQ(Gated(head, head, rule + limit).ids(), Ids{"r/not-measured/" + key}) << "BASE fails, too";
  }
  // What nothing can be measured of, as both refuse it by name, is no finding.
  Report refused = small_report();
  Record& r = record_of(refused, 0);
  r.by_case = {};
  r.by_case[static_cast<std::size_t>(VerdictKind::unsupported)] = 12;
  r.seeds_by_kind[static_cast<std::size_t>(VerdictKind::unsupported)] = r.seeds;
  r.o = {};
  EXPECT_EQ(Gated(refused, refused, rule + "max_ratio = 1\n").ids(), Ids{});
  EXPECT_EQ(Gated(small_report(), refused, rule + "max_ratio = 1\n").ids(), Ids{"r/not-measured/" + key});
}

TEST(gate, what_vanished_and_what_selects_nothing_are_reasons) {
  Report head = small_report();
  head.result.records.erase(head.result.records.begin() + 2);
  EXPECT_EQ(Gated(small_report(), head, "[[rule]]\nname = \"m\"\nno_missing = true\n").ids(),
            Ids{"m/missing/softmax.b.hardened/f32/cpu/det/normal"});
  const std::string none = "[[rule]]\nname = \"m\"\nkernel = \"merge.*\"\nmax_ratio = 1\n";
  EXPECT_EQ(Gated(head, head, none).ids(), Ids{"m/selects-nothing"});
  EXPECT_EQ(Gated(head, head, none + "allow_empty = true\n").ids(), Ids{});
}

TEST(gate, speeds_fail_where_the_whole_interval_is_above_the_limit_or_there_is_none) {
  Speed speed;
  const auto add = [&](const std::string& name, double lower, double upper, SpeedVerdict verdict) {
    speed.changes.push_back({name, 10, 10, false, 1, 1, {(lower + upper) / 2, lower, upper, true, 0}, verdict});
  };
  add("a", 1.031, 1.05, SpeedVerdict::slower);
  add("b", 1.02, 1.08, SpeedVerdict::slower);
  add("c", 0.9, 0.95, SpeedVerdict::faster);
  add("d", 1, 1, SpeedVerdict::too_few);
  const std::string rule = "[[rule]]\nname = \"s\"\nslower_percent = 3\n";
  add("e", 0.5, 1.9, SpeedVerdict::no_change_shown);
  add("f", 0.97, 1.03, SpeedVerdict::no_change_shown);
  EXPECT_EQ(Gated(small_report(), small_report(), rule, "", &speed).ids(),
            (Ids{"s/slower/a", "s/undecided/b", "s/no-verdict/d", "s/undecided/e"}));
  EXPECT_EQ(Gated(small_report(), small_report(), rule + "benchmark = [\"c\", \"f\"]\n", "", &speed).ids(), Ids{});
  EXPECT_EQ(Gated(small_report(), small_report(), "[[rule]]\nname = \"s\"\nslower_percent = 8\n", "", &speed).ids(),
            (Ids{"s/no-verdict/d", "s/undecided/e"}));
  EXPECT_THAT(complaint([&] { Gated(small_report(), small_report(), rule); }),
              HasSubstr("rule s: slower_percent needs times"));
}

Json bench_json(std::mt19937_64& engine, int benchmarks) {
  Json bench{{"context", {{"num_cpus", 2}}}, {"benchmarks", Json::array()}};
  std::normal_distribution<double> noise(0, 0.003);
  for (int i = 0; i < benchmarks; ++i) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      bench["benchmarks"].push_back(
          {{"name", "k" + std::to_string(i)}, {"cpu_time", 10 * (1 + std::fabs(noise(engine)))}, {"time_unit", "us"}});
    }
  }
  return bench;
}

const std::string kSlower = "[[rule]]\nname = \"s\"\nslower_percent = 3\n";

TEST(gate, ten_comparisons_of_one_build_with_itself_pass) {
  std::mt19937_64 engine(11);
  for (int run = 0; run < 10; ++run) {
    const Speed speed = compare_speed({{bench_of(bench_json(engine, 50), "a"), bench_of(bench_json(engine, 50), "b")}});
    const Gated g(small_report(), small_report(), kClasses + "max_ratio = 1\nno_missing = true\n" + kSlower, "",
                  &speed);
    EXPECT_TRUE(g.result.passes()) << run << " " << g.ids().front();
  }
}

TEST(gate, a_benchmark_that_head_lacks_or_fails_in_is_a_reason) {
  std::mt19937_64 engine(12);
  const Json base = bench_json(engine, 3);
  Json head = bench_json(engine, 1);
  head["benchmarks"].push_back({{"name", "k2"}, {"error_occurred", true}, {"error_message", "out of memory"}});
  const Speed speed = compare_speed({{bench_of(base, "a"), bench_of(head, "b")}});
  const Gated g(small_report(), small_report(), kSlower, "", &speed);
  EXPECT_EQ(g.ids(), (Ids{"s/missing-benchmark/k1", "s/missing-benchmark/k2"}));
  EXPECT_THAT(g.result.reasons[0].text, HasSubstr("k1: is not in b"));
  EXPECT_THAT(g.result.reasons[1].text, HasSubstr("k2: did not run: out of memory"));
  EXPECT_TRUE(Gated(small_report(), small_report(), kSlower + "benchmark = \"k0\"\n", "", &speed).result.passes());
}

TEST(gate, different_cases_are_not_judged) {
  Report head = small_report();
  move_seeds(record_of(head, 0), 5);
  EXPECT_THAT(complaint([&] { Gated(small_report(), head, kClasses); }),
              HasSubstr("p.toml: rule r: 1 of 4 records ran other cases"));
}

std::string waiver(const std::string& id, const std::string& expires) {
  return "[[waiver]]\nid = \"" + id + "\"\nreason = \"fixed upstream\"\nexpires = " + expires + "\n";
}

TEST(gate, a_waiver_lets_its_reasons_pass_until_its_last_day) {
  Report worse = small_report();
  fail_cases(record_of(worse, 0), Failure::silently_wrong, 2);
  fail_cases(record_of(worse, 1), Failure::class_mismatch, 2);
  const std::string id = "r/class/softmax.a.hardened/f32/cpu/det/normal";
  const Gated one(small_report(), worse, kClasses, waiver(id, "2026-11-22"));
  EXPECT_FALSE(one.result.passes());  // the other
  EXPECT_NE(one.result.reasons[0].waiver, nullptr);
  EXPECT_EQ(one.result.reasons[1].waiver, nullptr);
  const Gated both(small_report(), worse, kClasses, waiver("r/class/softmax.a.*", "2026-12-01"));
  EXPECT_TRUE(both.result.passes());
  EXPECT_TRUE(both.result.unused.empty());
  const Gated late(small_report(), worse, kClasses, waiver("r/class/softmax.a.*", "2026-11-21"));
  EXPECT_FALSE(late.result.passes());
  EXPECT_EQ(late.result.expired.size(), 1U);
  EXPECT_EQ(late.result.reasons[0].waiver, nullptr);
}

TEST(gate, an_expired_waiver_fails_by_itself_and_an_unused_one_is_told) {
  const Gated unused(small_report(), small_report(), kClasses, waiver("r/class/softmax.z*", "2027-01-01"));
  EXPECT_TRUE(unused.result.passes());
  ASSERT_EQ(unused.result.unused.size(), 1U);
  EXPECT_EQ(unused.result.unused[0]->place, "w.toml:1");
  EXPECT_FALSE(
      Gated(small_report(), small_report(), kClasses, waiver("r/class/softmax.z*", "2020-01-01")).result.passes());
}

TEST(gate, a_day_is_one_of_the_calendar) {
  EXPECT_EQ(parse_date("2026-11-22"), kToday);
  for (const char* text : {"2026-13-01", "2026-02-29", "2026-1-01", "22.11.2026", "", "2026-11-2x", "2026-11-22 "}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
  EXPECT_EQ(to_string(kToday), "2026-11-22");
}

}  // namespace
}  // namespace flashproof::compare
