#include "reports/compare/outcome.h"

#include "reports/compare/test/compare_fixture.h"
#include "reports/record/report.h"

namespace flashproof::compare {
namespace {

using namespace std::chrono_literals;

/// Many records, of which every second one fails.
struct Big {
  Report a = small_report(), b = small_report();
  Document base, head;
  std::vector<Waiver> waivers =
      parse_waivers("[[waiver]]\nid = \"r/z*\"\nreason = \"x\"\nexpires = 2020-01-01\n", "w.toml");
  Outcome outcome;
  explicit Big(int more) {
    for (int i = 0; i < more; ++i) {
      const std::string family = "family_" + std::to_string(i) + (i == 0 ? "|<b>`" : "");
      for (Report* report : {&a, &b}) report->result.records.push_back(made_record("softmax.a.hardened", family));
      Record& changed = b.result.records.back();
      if (i % 2 == 0)
        fail_cases(changed, Failure::silently_wrong, 3);
      else
        changed.o.max_ratio = 0.75;
    }
    base = document(a, "a");
    head = document(b, "b");
    outcome.comparison = compare(base, head, false);
    outcome.today = 2026y / 11 / 22;
    outcome.base_label = base.label();
    outcome.head_label = head.label();
    outcome.gate = gate(parse_policy("[[rule]]\nname = \"r\"\nno_class_worse = true\n", "p"), waivers, outcome.today,
                        outcome.comparison, nullptr);
  }
};

TEST(outcome, the_text_leads_with_class_changes_and_gives_case_element_and_replay_line) {
  const std::string text = text_of(Big(2).outcome);
  const std::size_t classes = text.find("CLASS CHANGES"), errors = text.find("ERROR CHANGES"),
                    gate = text.find("GATE FAILS");
  ASSERT_NE(classes, std::string::npos);
  EXPECT_TRUE(classes < errors && errors < gate);
  EXPECT_THAT(text, HasSubstr("WORSE  softmax.a.hardened f32 cpu family_0|<b>`: pass -> silently_wrong, 3 of 12 cases "
                              "(3 pass -> silently_wrong (first seed 0))"));
  EXPECT_THAT(text, HasSubstr("worse softmax.a.hardened f32 cpu family_1: error/bound 0.5 -> 0.75 (+50 %)"));
  EXPECT_THAT(text, HasSubstr("o: ulp p50 [0.25, 0.5), p90 [0.5, 1), p99 [1, 2), max 1.5"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "HEAD softmax:family_1:3:format=f32  pass at o[7]: computed 1.5, exact 1, error 0.5, 0.5 of its bound 1"));
  EXPECT_THAT(text, HasSubstr("./flashproof replay softmax:family_1:3:format=f32 --kernel softmax.a.hardened"));
  EXPECT_THAT(text, HasSubstr("FAIL r/class/softmax.a.hardened/f32/cpu/det/family_0"));
  EXPECT_THAT(text, HasSubstr("FAIL w.toml:1: the waiver of r/z* expired on 2020-01-01 (today 2026-11-22)"));
  EXPECT_THAT(text, HasSubstr("note w.toml:1: the waiver of r/z* matches no reason"));
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST(outcome, nothing_that_changed_is_one_line) {
  Big same(0);
  same.outcome.gate.reset();
  EXPECT_EQ(text_of(same.outcome),
            "BASE 0123456789ab (seed 0, default)\nHEAD 0123456789ab (seed 0, default)\n"
            "0 of 4 records (kernel x format x executor x math x family): no change\n");
}

TEST(outcome, different_cases_are_said_before_anything_else) {
  Report other = small_report();
  for (Record& r : other.result.records) move_seeds(r, 100);
  const Document base = document(small_report()), head = document(other);
  Outcome o;
  o.comparison = compare(base, head, false);
  const std::string text = text_of(o);
  EXPECT_THAT(text, HasSubstr("DIFFERENT CASES in 4 of 4 records"));
  EXPECT_LT(text.find("DIFFERENT CASES"), text.find("4 of 4 records (kernel"));
  EXPECT_THAT(text, HasSubstr("FAILS MORE OR LESS OFTEN, on other cases\n  no change shown"));
  EXPECT_THAT(text, Not(HasSubstr("ERROR CHANGES")));
}

TEST(outcome, a_comment_tells_how_often_other_cases_fail_and_which_benchmarks_did_not_run) {
  Report other = small_report();
  for (Record& r : other.result.records) move_seeds(r, 100);
  Document base = document(small_report()), head = document(other);
  Outcome o;
  o.comparison = compare(base, head, false);
  EXPECT_THAT(markdown_of(o),
              HasSubstr("## Fails more or less often, on other cases\n\nFisher's exact test, two-sided, "
                        "p times 4 records. No change shown."));
  fail_cases(record_of(other, 0), Failure::exceeds_bound, 12);
  head = document(other);
  o.comparison = compare(base, head, false);
  o.speed.emplace();
  o.speed->only_base = {"gone"};
  o.speed->only_head = {"new"};
  o.speed->not_run = {"broken (head.json: out of memory)"};
  const std::string text = markdown_of(o);
  EXPECT_THAT(text, HasSubstr("| 0 of 12 | 12 of 12 | "));
  EXPECT_THAT(text, HasSubstr("| `gone` | | | only in BASE |"));
  EXPECT_THAT(text, HasSubstr("| `new` | | | only in HEAD |"));
  EXPECT_THAT(text, HasSubstr("| `broken (head.json: out of memory)` | | | not run |"));
  EXPECT_THAT(text, Not(HasSubstr("## Error changes")));
}

TEST(outcome, a_class_that_changed_stands_with_its_errors) {
  Big big(2);
  record_of(big.b, 4).o.max_ratio = 7;
  big.head = document(big.b, "b");
  big.outcome.comparison = compare(big.base, big.head, false);
  const std::string text = text_of(big.outcome), markdown = markdown_of(big.outcome);
  const std::string classes =
      text.substr(text.find("CLASS CHANGES"), text.find("ERROR CHANGES") - text.find("CLASS CHANGES"));
  EXPECT_THAT(classes, HasSubstr("error/bound 0.5 -> 7 (x 14.0)"));
  EXPECT_THAT(classes, HasSubstr("o: ulp p50 [0.25, 0.5)"));
  EXPECT_THAT(classes, HasSubstr("bias 0.001 (limit 0.03)"));
  const std::string table =
      markdown.substr(markdown.find("## Class"), markdown.find("## Error") - markdown.find("## Class"));
  EXPECT_THAT(table, HasSubstr("| 0.5 -\\> 7 (x 14.0) | lse: ulp no element measured; "));
  EXPECT_THAT(table, HasSubstr("<br>o: ulp p50 \\[0.25, 0.5)"));
}

TEST(outcome, a_comment_is_cut_and_never_longer_than_github_takes) {
  const Big big(2000);
  const std::string text = markdown_of(big.outcome);
  EXPECT_LE(text.size(), kMarkdownLimit);
  EXPECT_GT(text.size(), kMarkdownLimit / 2);
  EXPECT_THAT(text, HasSubstr("# flashproof compare"));
  EXPECT_THAT(text, HasSubstr("## Gate: **fails**"));
  EXPECT_THAT(text, HasSubstr("## Class changes"));
  EXPECT_THAT(text, HasSubstr("## Error changes"));
  EXPECT_THAT(text, HasSubstr("rows are left out"));
  EXPECT_EQ(text.find("family_0|", text.find("<details>")), std::string::npos);  // a bare | would end its cell
  EXPECT_LT(text.find("FAIL "), text.find("<details>")) << "the block is for people, and is not folded";
  EXPECT_EQ(text.substr(text.size() - 11), "</details>\n");
  Big same(0);
  same.waivers.clear();
  same.outcome.gate = GateResult{};
  EXPECT_THAT(markdown_of(same.outcome), HasSubstr("## Gate: passes"));
}

TEST(outcome, the_block_names_each_kernel_once_the_most_harmful_first) {
  Big big(40);
  big.waivers.clear();
  big.outcome.gate.reset();
  const VerdictBlock block = block_of(big.outcome);
  EXPECT_EQ(block.word, "WORSE");
  EXPECT_EQ(block.sentence,
            "of 44 cells (kernel x format x input family) 20 err more, 0 less; verdicts: 20 worse, 0 better");
  ASSERT_EQ(block.causes.size(), 2U);  // one kernel: classes, errors
  EXPECT_EQ(block.causes[0].sentence,
            "softmax.a.hardened: worse, most in f32 family_0|<b>`: pass -> silently_wrong, 3 of 12 cases");
  EXPECT_EQ(block.causes[0].extent,
            "20 of 42 cells (f32); family_0|<b>`, family_10, family_12, family_14, 16 more families");
  EXPECT_THAT(block.causes[0].replay,
              HasSubstr("./flashproof replay 'softmax:family_0|<b>`:0:format=f32' --kernel softmax.a.hardened"));
  EXPECT_THAT(block.causes[1].sentence, HasSubstr("less accurate, most in f32 family_1: o: worst error 0.5 -> 0.75"));
  const std::string text = block_text(block, Colour::off);
  EXPECT_LE(static_cast<std::size_t>(std::ranges::count(text, '\n')), kBlockLines);
}

TEST(outcome, the_word_of_the_block_is_what_happened) {
  Big same(0), worse(2), better(0), mixed(2);
  for (Big* big : {&same, &worse, &better, &mixed}) big->outcome.gate.reset();
  record_of(better.b, 0).o.max_ratio = 0.25;
  record_of(mixed.b, 0).o.max_ratio = 0.25;
  for (Big* big : {&better, &mixed}) {
    big->head = document(big->b, "b");
    big->outcome.comparison = compare(big->base, big->head, false);
  }
  EXPECT_EQ(block_of(same.outcome).word, "SAME");
  EXPECT_EQ(block_of(worse.outcome).word, "WORSE");
  EXPECT_EQ(block_of(better.outcome).word, "BETTER");
  EXPECT_EQ(block_of(mixed.outcome).word, "MIXED");
  Big gone(0);
  gone.outcome.gate.reset();
  gone.b.result.records.pop_back();
  gone.head = document(gone.b, "b");
  gone.outcome.comparison = compare(gone.base, gone.head, false);
  EXPECT_EQ(block_of(gone.outcome).word, "CHANGED");
  EXPECT_EQ(block_of(gone.outcome).outcome, BlockOutcome::none) << "what one side lacks is no success";
  Outcome one_program;
  one_program.scope = "all the same";
  EXPECT_EQ(block_of(one_program).word, "SAME");
  EXPECT_EQ(block_of(one_program).sentence, "the two programs compute the same");
}

TEST(outcome, the_json_has_everything_and_parses) {
  const Json json = Json::parse(json_of(Big(100).outcome));
  EXPECT_EQ(json["schema"], "flashproof.compare/1");
  EXPECT_EQ(json["changed"].size(), 100U);
  EXPECT_EQ(json["changed"][0]["class_change"]["to"], "silently_wrong");
  EXPECT_EQ(json["changed"][99]["error"], "worse");
  EXPECT_EQ(json["changed"][99]["head"]["figures"]["o"]["ulp"]["p99"], (Json{{"from", 1.0}, {"below", 2.0}}));
  EXPECT_EQ(json["gate"]["reasons"].size(), 50U);
  EXPECT_EQ(json["gate"]["passes"], false);
}

}  // namespace
}  // namespace flashproof::compare
