#include "reports/compare/speed/speed.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

Json bench_json(const std::string& device = "H200") {
  return {{"context", {{"num_cpus", 2}, {"device", device}, {"host_name", "random"}}}, {"benchmarks", Json::array()}};
}

void add(Json& bench, const std::string& name, const std::vector<double>& seconds) {
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    bench["benchmarks"].push_back({{"name", name},
                                   {"run_name", name},
                                   {"run_type", "iteration"},
                                   {"repetition_index", i},
                                   {"real_time", seconds[i] * 1e6},
                                   {"cpu_time", seconds[i] * 1e6},
                                   {"time_unit", "us"}});
  }
}

/// GPU kernels repeat within a few tenths of a percent; here 0.3 %, with a tail.
std::vector<double> times(std::mt19937_64& engine, double scale, std::size_t n = 10) {
  std::normal_distribution<double> noise(0, 0.003);
  std::vector<double> list;
  for (std::size_t i = 0; i < n; ++i) list.push_back(scale * 1e-3 * (1 + std::fabs(noise(engine))));
  return list;
}

Speed compared(const Json& base, const Json& head) {
  return compare_speed({{bench_of(base, "base"), bench_of(head, "head")}});
}

TEST(speed, ten_comparisons_of_one_build_with_itself_show_no_change_and_3_percent_do) {
  std::mt19937_64 engine(3);
  for (int run = 0; run < 10; ++run) {
    Json base = bench_json(), head = bench_json(), slow = bench_json();
    for (int i = 0; i < 20; ++i) {
      const std::string name = fmt::format("kernel{}/manual_time", i);
      add(base, name, times(engine, 1 + i));
      add(head, name, times(engine, 1 + i));
      add(slow, name, times(engine, (1 + i) * (i == 7 ? 1.03 : 1)));
    }
    for (const SpeedChange& c : compared(base, head).changes) {
      EXPECT_EQ(c.verdict, SpeedVerdict::no_change_shown) << c.name << c.text();
    }
    for (const SpeedChange& c : compared(base, slow).changes) {
      if (c.name == "kernel7/manual_time") {
        EXPECT_EQ(c.verdict, SpeedVerdict::slower) << c.text();
        EXPECT_LE(c.interval.lower, 1.03);
        EXPECT_GE(c.interval.upper, 1.03);
        EXPECT_THAT(c.text(), HasSubstr("slower by "));
      } else {
        EXPECT_NE(c.verdict, SpeedVerdict::slower) << c.name << c.text();
        EXPECT_NE(c.verdict, SpeedVerdict::faster) << c.name << c.text();
      }
    }
    for (const SpeedChange& c : compared(slow, base).changes) {
      if (c.name == "kernel7/manual_time") {
        EXPECT_EQ(c.verdict, SpeedVerdict::faster) << c.text();
      }
    }
  }
}

// Each process is dealt a speed of its own, 2 % apart, and is steady in itself. Repetitions inside one process see none of
// that; rounds do.
TEST(speed, what_differs_between_processes_is_no_change_where_rounds_are_compared) {
  std::mt19937_64 engine(4);
  std::uniform_real_distribution<double> dealt(0.99, 1.01);
  int false_alarms = 0;
  for (int run = 0; run < 50; ++run) {
    std::vector<std::pair<BenchFile, BenchFile>> same, slower;
    for (int round = 0; round < 12; ++round) {
      Json base = bench_json(), head = bench_json(), slow = bench_json();
      add(base, "k", times(engine, dealt(engine), 3));
      add(head, "k", times(engine, dealt(engine), 3));
      add(slow, "k", times(engine, dealt(engine) * 1.03, 3));
      same.emplace_back(bench_of(base, "base"), bench_of(head, "head"));
      slower.emplace_back(bench_of(base, "base"), bench_of(slow, "head"));
    }
    const SpeedChange a = compare_speed(same).changes[0], b = compare_speed(slower).changes[0];
    EXPECT_TRUE(a.paired);
    false_alarms += a.verdict == SpeedVerdict::no_change_shown ? 0 : 1;
    EXPECT_NE(b.verdict, SpeedVerdict::faster);
    if (run == 0) {
      EXPECT_EQ(b.verdict, SpeedVerdict::slower) << b.text();
    }
  }
  EXPECT_LE(false_alarms, 3);  // at most 0.5 expected
}

TEST(speed, repetitions_of_one_measurement_are_pairs_and_a_common_drift_cancels) {
  std::mt19937_64 engine(5);
  Json base = bench_json(), head = bench_json();
  std::vector<double> x = times(engine, 1, 14), y = times(engine, 1.03, 14);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double clock = 1 + 0.1 * static_cast<double>(i);
    x[i] *= clock;
    y[i] *= clock;
  }
  add(base, "k", x);
  add(head, "k", y);
  EXPECT_EQ(compared(base, head).changes[0].verdict, SpeedVerdict::drifts);
  base["context"]["flashproof_rounds"] = head["context"]["flashproof_rounds"] = "one measurement";
  const SpeedChange c = compared(base, head).changes[0];
  EXPECT_EQ(c.verdict, SpeedVerdict::slower) << c.text();
  EXPECT_TRUE(c.paired);
  head["benchmarks"].erase(0);
  EXPECT_THAT(complaint([&] { compared(base, head); }), HasSubstr("14 and 13 repetitions of k"));
}

TEST(speed, other_machines_and_too_few_repetitions_give_no_verdict) {
  std::mt19937_64 engine(6);
  Json base = bench_json(), head = bench_json("H100");
  add(base, "k", times(engine, 1));
  add(head, "k", times(engine, 2));
  EXPECT_THAT(compared(base, head).changes[0].text(), HasSubstr("different machines"));
  head["context"]["device"] = "H200";
  head["context"]["host_name"] = "another container";
  EXPECT_EQ(compared(base, head).changes[0].verdict, SpeedVerdict::slower);
  Json few = bench_json();
  add(few, "k", times(engine, 2, 3));
  EXPECT_THAT(compared(few, few).changes[0].text(),
              HasSubstr("no verdict: 3 repetitions, this many comparisons need 5"));
}

TEST(speed, names_are_matched_and_the_rest_is_listed) {
  std::mt19937_64 engine(6);
  Json base = bench_json(), head = bench_json();
  for (const char* name : {"a", "b"}) add(base, name, times(engine, 1));
  for (const char* name : {"b", "c"}) add(head, name, times(engine, 1));
  head["benchmarks"].push_back({{"name", "d"}, {"error_occurred", true}, {"error_message", "no memory"}});
  const Speed speed = compared(base, head);
  ASSERT_EQ(speed.changes.size(), 1U);
  EXPECT_EQ(speed.only_base, std::vector<std::string>{"a"});
  EXPECT_EQ(speed.only_head, std::vector<std::string>{"c"});
  EXPECT_EQ(speed.not_run, std::vector<std::string>{"d (head: no memory)"});
  Json other = bench_json();
  add(other, "z", times(engine, 1));
  EXPECT_THAT(complaint([&] { compared(base, other); }), HasSubstr("no benchmark in common"));
}

TEST(speed, what_is_no_benchmark_result_is_refused) {
  const auto refused = [](const Json& json) { return complaint([&] { bench_of(json, "x.json"); }); };
  EXPECT_THAT(refused(Json{{"schema", "flashproof.report/5"}}), HasSubstr("no JSON of Google Benchmark"));
  EXPECT_THAT(refused(bench_json()), HasSubstr("no repetitions; legal: JSON made with --benchmark_repetitions=N"));
  Json bench = bench_json();
  bench["benchmarks"].push_back(
      {{"name", "k_mean"}, {"run_type", "aggregate"}, {"cpu_time", 1.0}, {"time_unit", "ns"}});
  EXPECT_THAT(refused(bench), HasSubstr("no repetitions"));
  bench = bench_json();
  add(bench, "k", {0.0});
  EXPECT_THAT(refused(bench), HasSubstr("/benchmarks/0/cpu_time is 0.0, legal is a positive number"));
  bench = bench_json();
  add(bench, "k", std::vector<double>(201, 1.0));
  EXPECT_THAT(refused(bench), HasSubstr("legal is one of at most 200 repetitions"));
  bench = bench_json();
  add(bench, "k", {1.0});
  bench["benchmarks"][0]["time_unit"] = "min";
  EXPECT_THAT(refused(bench), HasSubstr("legal is ns, us, ms or s"));
}

}  // namespace
}  // namespace flashproof::compare
