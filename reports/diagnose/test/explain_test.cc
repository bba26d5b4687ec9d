#include "reports/diagnose/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/error/test/scene.h"
#include "reference/oracle/oracle.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ParseElement, takes_o_and_lse_and_names_the_legal_range_for_the_rest) {
  const Problem problem = make_case(parse_case_spec("softmax:normal:1:rows=3,cols=8")).problem;
  const ElementChoice o = parse_element("o:2,7", problem);
  EXPECT_EQ(o.part, Part::o);
  EXPECT_EQ(o.row, 2);
  EXPECT_EQ(o.column, 7);
  EXPECT_EQ(parse_element("lse:0", problem).part, Part::lse);
  for (const char* wrong : {"", "o", "o:", "o:1", "o:1,", "o:3,0", "o:0,8", "o:-1,0", "o:1,2,3", "lse:3", "lse:0,0",
                            "lse:", "p:0,0", "dq:0,0", "o:1, 2", "o:99999999999999999999,0"}) {
    try {
      parse_element(wrong, problem);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("rows 0..2 and columns 0..7")) << wrong;
    }
  }
}

TEST(ParseElement, takes_the_parts_of_a_gradient_by_row_and_column) {
  const Problem problem =
      make_case(parse_case_spec("attention_backward:normal:1:b=1,hk=1,hq=2,sq=4,sk=8,d=16,dv=24")).problem;
  EXPECT_EQ(parse_element("dq:7,15", problem).row, 7);
  EXPECT_EQ(parse_element("dv:7,23", problem).column, 23);
  for (const char* wrong : {"o:0,0", "dq:8,0", "dk:0,16", "dv:8,0", "dq:1"}) {
    EXPECT_THROW(parse_element(wrong, problem), UsageError) << wrong;
  }
}

TEST(PaidFor, says_something_of_every_part) {
  for (const ProblemKind problem : kProblemKinds) {
    for (const Part part : parts(problem)) {
      std::set<std::string_view> sentences;
      for (const char* term : {"weights", "numerator", "denominator", "output"})
        sentences.insert(paid_for(term, part, problem));
      EXPECT_EQ(sentences.size(), 4U);
      EXPECT_FALSE(sentences.contains(""));
    }
  }
}

struct Explained {
  Scene scene;
  Case subject = make_case(parse_case_spec("attention:normal:3:b=1,hq=1,hk=1,sq=3,sk=32,dv=4"));
  Kernel kernel = *find_kernel("attention.deferred.hardened");

  std::string text(const ElementChoice* choice = nullptr) const {
    const Judgement judgement = judge(scene.output, scene.truth, scene.bound, kernel.contract, 0);
    const Evaluation e{kernel, subject, scene.output, scene.truth, scene.bound, judgement};
    return explain_text(e, Executor::cpu, choice != nullptr ? *choice : worst_element(e));
  }
};

Scene explained_scene() {
  Scene s = make_scene(3, 4);
  for (Tier& tier : s.truth.tier) tier = Tier::fp64;
  s.bound.domain[1].require({"scores below the range", 3, 12});
  s.set_true_o(1, 2, {0.5, 0, 0});
  s.set_o(1, 2, 0.5 + 0x1p-21);
  return s;
}

TEST(Explain, takes_the_worst_element_and_says_who_pays_and_what_is_near) {
  Explained e{explained_scene()};
  const std::string text = e.text();
  EXPECT_THAT(text, HasSubstr("attention.deferred.hardened on cpu, attention:normal:3:"));
  EXPECT_THAT(text, HasSubstr("o[row 1, column 2]"));
  EXPECT_THAT(text, HasSubstr("error       4.768e-07"));
  EXPECT_THAT(text, HasSubstr("  dominates"));
  EXPECT_THAT(text, HasSubstr("The weights part pays for rounded scores"));
  EXPECT_THAT(text, HasSubstr("chance is not known to help"));
  EXPECT_THAT(text, HasSubstr("preconditions of this row fail; nearest to failing first"));
  EXPECT_THAT(text, HasSubstr("lower it"));
}

TEST(Explain, an_error_above_the_probable_bound_is_to_be_investigated) {
  Explained e{explained_scene()};
  e.scene.bound_o(1, 2).probable = 0x1p-23;
  EXPECT_THAT(e.text(), HasSubstr("the error lies above it: investigate. Most likely broken: "));
  e.scene.bound_o(1, 2).probable = 0x1.8p-21;
  EXPECT_THAT(e.text(), HasSubstr("the error does not lie above it"));
}

TEST(Explain, a_symbolic_answer_has_no_bound) {
  Explained e{explained_scene()};
  e.scene.set_true_class(0, 0, kNaN);
  e.scene.set_o(0, 0, std::numeric_limits<double>::quiet_NaN());
  const ElementChoice first{Part::o, 0, 0};
  EXPECT_THAT(e.text(&first), HasSubstr("only the class of the answer is judged"));
  EXPECT_THAT(e.text(&first), Not(HasSubstr("lower it")));
}

/// A real kernel on a case whose scores leave the range of f32: the preconditions are those of the case.
TEST(Explain, a_row_out_of_its_domain_says_which_precondition_failed) {
  const Kernel& kernel = *find_kernel("attention.deferred.hardened");
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Case subject = make_case({ProblemKind::attention, "huge", seed, {{"b", "1"}, {"sq", "2"}, {"sk", "9"}}});
    if (!kernel.unsupported(subject.problem).empty()) continue;
    const Bound bound = compute_bound(subject.problem, kernel.arithmetic);
    const auto outside =
        std::find_if(bound.domain.begin(), bound.domain.end(), [](const RowDomain& d) { return !d.holds(); });
    if (outside == bound.domain.end()) continue;
    const Output output = run(kernel, subject.problem);
    Oracle oracle(subject.problem);
    const Judgement judgement = judge(output, oracle, bound, kernel.contract, 0);
    const Evaluation e{kernel, subject, output, oracle.truth(), bound, judgement};
    const ElementChoice choice{Part::o, outside - bound.domain.begin(), 0};
    const std::string text = explain_text(e, Executor::cpu, choice);
    if (text.find("only the class") != std::string::npos) continue;
    EXPECT_THAT(text, HasSubstr(" FAILS"));
    EXPECT_THAT(text, HasSubstr(outside->nearest.name));
    return;
  }
  FAIL() << "no case of the family leaves the domain";
}

TEST(Explain, where_nothing_was_measured_the_first_failure_is_the_worst_and_no_element_is_an_error) {
  Explained e{make_scene(2, 2)};
  e.scene.truth.lse.set(1, {0, 0, 0, kNegInf});
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t c = 0; c < 2; ++c) {
      e.scene.set_true_class(r, c, kNaN);
      e.scene.set_o(r, c, std::numeric_limits<double>::quiet_NaN());
    }
  }
  e.scene.truth.lse.set(0, {0, 0, 0, kNaN});
  e.scene.set_lse(0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(e.text(), HasSubstr("lse[row 1]"));
  EXPECT_THAT(e.text(), HasSubstr("fail(class_mismatch)"));
  const Explained empty{make_scene(0, 4)};
  EXPECT_THROW(empty.text(), UsageError);
}

}  // namespace
}  // namespace flashproof
