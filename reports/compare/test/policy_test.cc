#include "reports/compare/policy.h"

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

std::string refused(const std::string& text) {
  return complaint([&] { parse_policy(text, "p.toml"); });
}

TEST(policy, a_rule_is_read_whole) {
  const Policy policy = parse_policy(R"(
[[rule]]
name = "hardened"
kernel = ["*.hardened", "softmax.?.published"]
format = "f32"
no_class_worse = true
ratio_growth_percent = 10
ratio_floor = 0.05
max_ratio = 1.0
p99_growth_octaves = 1

[[rule]]
name = "speed"
benchmark = "softmax*"
slower_percent = 3.5
allow_empty = true
)",
                                     "p.toml");
  ASSERT_EQ(policy.rules.size(), 2U);
  const Rule& rule = policy.rules[0];
  EXPECT_TRUE(rule.about_records() && rule.no_class_worse && !rule.no_missing && !rule.allow_empty);
  EXPECT_EQ(rule.ratio_growth_percent, 10);
  EXPECT_TRUE(rule.takes({"softmax.b.published", "f32", "cuda", "native", "normal"}));
  EXPECT_FALSE(rule.takes({"softmax.b.hardened", "f16", "cpu", "det", "normal"}));
  EXPECT_FALSE(rule.takes({"softmax.bb.published", "f32", "cpu", "det", "normal"}));
  EXPECT_TRUE(rule.takes({"softmax.x.hardened -> softmax.broken.y@1", "f32", "cpu", "det", "normal"}));
  EXPECT_FALSE(rule.takes({"softmax.broken.x -> softmax.broken.y@1", "f32", "cpu", "det", "normal"}));
  EXPECT_EQ(policy.rules[1].slower_percent, 3.5);
  EXPECT_FALSE(policy.rules[1].about_records());
  EXPECT_TRUE(policy.rules[1].takes_benchmark("softmax/a") && !policy.rules[1].takes_benchmark("merge/a"));
}

TEST(policy, everything_else_is_an_error_with_file_line_key_and_what_is_legal) {
  const std::string rule = "[[rule]]\nname = \"a\"\n";
  EXPECT_EQ(refused("rules = 1\n"), "p.toml:1: rules: unknown key; legal: rule");
  EXPECT_THAT(refused(rule + "max_rato = 1\nmax_ratio = 1\n"),
              HasSubstr("p.toml:3: rule.max_rato: unknown key; legal: name, kernel"));
  EXPECT_EQ(refused(rule + "max_ratio = \"1\"\n"),
            "p.toml:3: rule.max_ratio: must be a number in 0..1000000, not \"1\"");
  EXPECT_THAT(refused(rule + "max_ratio = -0.5\n"), HasSubstr("must be a number in 0..1000000, not -0.5"));
  EXPECT_THAT(refused(rule + "max_ratio = nan\n"), HasSubstr("not nan"));
  EXPECT_THAT(refused(rule + "ulp_growth = inf\n"),
              HasSubstr("p.toml:3: rule.ulp_growth: must be a number in 0..1000000000000, not inf"));
  EXPECT_THAT(refused(rule + "p99_growth_octaves = 65\n"), HasSubstr("in 0..64, not 65"));
  EXPECT_EQ(refused(rule + "no_class_worse = 1\n"), "p.toml:3: rule.no_class_worse: must be true or false, not 1");
  EXPECT_EQ(refused(rule + "kernel = 3\nno_missing = true\n"),
            "p.toml:3: rule.kernel: must be a glob, or an array of them, not 3");
  EXPECT_THAT(refused(rule + "kernel = []\nno_missing = true\n"), HasSubstr("not an empty one"));
  EXPECT_THAT(refused(rule + "kernel = [\"a\", 1]\n"), HasSubstr("not 1"));
  EXPECT_THAT(refused(rule + "kernel = \"\"\n"), HasSubstr("must be a glob"));
  EXPECT_THAT(refused(rule), HasSubstr("p.toml:1: rule a: checks nothing; legal: at least one of no_class_worse"));
  EXPECT_THAT(refused(rule + "no_class_worse = false\n"), HasSubstr("checks nothing"));
  EXPECT_THAT(refused(rule + "ratio_floor = 0.5\nmax_ratio = 1\n"),
              HasSubstr("p.toml:3: rule.ratio_floor: means nothing without ratio_growth_percent"));
  EXPECT_THAT(refused("[[rule]]\nmax_ratio = 1\n"), HasSubstr("p.toml:1: rule.name: is missing"));
  EXPECT_THAT(refused("[[rule]]\nname = \"A b\"\n"), HasSubstr("p.toml:2: rule.name: must be [a-z0-9_-]"));
  EXPECT_THAT(refused(rule + "max_ratio = 1\n" + rule + "max_ratio = 1\n"),
              HasSubstr("p.toml:5: rule.name: \"a\" names a rule above"));
  EXPECT_THAT(refused("[rule]\nname = \"a\"\n"), HasSubstr("rule: must be tables, each headed [[rule]], not a table"));
  EXPECT_THAT(refused("rule = [1]\n"), HasSubstr("must be tables"));
  EXPECT_EQ(refused("# nothing\n"), "p.toml: has no [[rule]]; legal: at least one");
  EXPECT_THAT(refused("[[rule]\n"), HasSubstr("p.toml:1: not TOML: "));
  EXPECT_THAT(refused(rule + "max_ratio = 1\nmax_ratio = 2\n"), HasSubstr("p.toml:4: not TOML: "));
  EXPECT_THAT(complaint([] { read_policy("no/such.toml"); }), HasSubstr("must be a regular file"));
  std::string key = "a", long_string = "# ' \" .\nb = \"";
  for (int i = 0; i < 100; ++i) key += ".'.='", long_string += "a.";
  for (const std::string& text : {key + " = 1\n", "[" + key + "]\n", "c = { " + key + " = 1 }\n"})
    EXPECT_THAT(refused("\n" + text), HasSubstr("p.toml:2: a key of more than 64 parts")) << text;
  EXPECT_THAT(refused(long_string + "\"\n"), HasSubstr("unknown key"));
}

TEST(waivers, one_is_read_and_everything_else_is_an_error) {
  const std::string id = "[[waiver]]\nid = \"a/class/*\"\n", reason = "reason = \"upstream fix\"\n",
                    date = "expires = 2026-12-31\n";
  const auto waivers = parse_waivers(id + reason + date, "w.toml");
  ASSERT_EQ(waivers.size(), 1U);
  EXPECT_EQ(waivers[0].place, "w.toml:1");
  EXPECT_EQ(waivers[0].expires,
            std::chrono::year_month_day(std::chrono::year(2026), std::chrono::month(12), std::chrono::day(31)));
  EXPECT_TRUE(parse_waivers("", "w.toml").empty());

  const auto refused_waiver = [](const std::string& text) { return complaint([&] { parse_waivers(text, "w.toml"); }); };
  EXPECT_EQ(refused_waiver(id + date), "w.toml:1: waiver.reason: is missing; legal: words that say why");
  EXPECT_THAT(refused_waiver(id + "reason = \"\"\n" + date), HasSubstr("w.toml:3: waiver.reason: must be words"));
  EXPECT_THAT(refused_waiver(id + "reason = \"  \"\n" + date), HasSubstr("not blanks"));
  EXPECT_THAT(refused_waiver(reason + date), HasSubstr("unknown key"));
  EXPECT_THAT(refused_waiver("[[waiver]]\n" + reason + date), HasSubstr("waiver.id: is missing"));
  EXPECT_THAT(refused_waiver(id + reason), HasSubstr("waiver.expires: is missing; legal: the last day it holds"));
  EXPECT_THAT(refused_waiver(id + reason + "expires = \"2026-12-31\"\n"),
              HasSubstr("w.toml:4: waiver.expires: must be a date like 2026-12-31, without quotes"));
  EXPECT_THAT(refused_waiver(id + reason + "expires = 2026-02-30\n"), HasSubstr("w.toml:4: not TOML"));
  EXPECT_THAT(refused_waiver(id + reason + date + "until = 3\n"),
              HasSubstr("waiver.until: unknown key; legal: id, reason, expires"));
  for (const std::string wide : {"*", "*/class/softmax.a", "*r*", "a*/class/x", "a", "a/", "/class/x", "?/class/x"}) {
    EXPECT_THAT(refused_waiver("[[waiver]]\nid = \"" + wide + "\"\n" + reason + date),
                HasSubstr("w.toml:2: waiver.id: must begin with a rule's name and /"))
        << wide;
  }
  const Policy policy = parse_policy("[[rule]]\nname = \"b\"\nno_missing = true\n", "p.toml");
  EXPECT_EQ(complaint([&] { check_waivers(policy, waivers); }),
            "w.toml:1: waiver.id: \"a\" is no rule of p.toml; legal: b");
}

}  // namespace
}  // namespace flashproof::compare
