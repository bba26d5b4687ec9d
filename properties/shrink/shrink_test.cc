// Shrinking ends, keeps problems valid, and finds what a reader would call the smallest case of a planted defect.
#include "properties/shrink/shrink.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "properties/generators/family.h"
#include "properties/shrink/brief.h"

namespace flashproof {
namespace {

constexpr int kTries = 4000;

Problem problem_of(const std::string& line) { return make_case(parse_case_spec(line)).problem; }

TEST(Shrink, every_candidate_is_valid_and_simpler) {
  int candidates = 0;
  for (const Family& family : families()) {
    for (const ProblemKind problem : family.problems) {
      const Problem whole = make_case({problem, std::string(family.name), 3, {}}).problem;
      const Complexity before = complexity(whole);
      int left = 12;  // enough of each; shrink_ends_everywhere goes all the way down
      for_each_simpler(whole, [&](const Problem& simpler) {
        EXPECT_NO_THROW(validate(simpler)) << family.name;
        EXPECT_LT(complexity(simpler), before) << family.name;
        ++candidates;
        return --left > 0;
      });
    }
  }
  EXPECT_GT(candidates, 300);
}

TEST(Shrink, ends_everywhere_where_everything_fails) {
  for (const char* line : {"softmax:chunk_order:2", "merge:merge_tree:2", "attention:feature_mix:2",
                           "attention:paged:3", "attention:packed:2", "attention:gqa:1"}) {
    const Problem least = minimise(problem_of(line), [](const Problem&) { return true; }, kTries);
    EXPECT_LE(complexity(least).elements, 4U) << line;
    EXPECT_EQ(complexity(least).nonzero, 0U) << line;
    int more = 0;
    for_each_simpler(least, [&](const Problem&) { return ++more < 100; });
    EXPECT_EQ(more, 0) << line << ": something simpler was left";
  }
}

TEST(Shrink, finds_one_large_logit) {
  const auto fails = [](const Problem& problem) {
    const auto& p = std::get<SoftmaxProblem>(problem);
    if (p.x.shape.empty()) return false;
    for (std::int64_t r = 0; r < p.x.shape[0]; ++r) {
      for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
        if (p.x.at({r, c}) > 1) return true;
      }
    }
    return false;
  };
  Problem whole;
  for (int seed = 0; seed < 20 && !fails(whole); ++seed) {
    whole = problem_of("softmax:normal:" + std::to_string(seed) + ":rows=9,cols=300,format=f32");
  }
  const auto least = std::get<SoftmaxProblem>(minimise(whole, fails, kTries));
  EXPECT_EQ(least.x.elements(), 1);
  EXPECT_LE(complexity(least).significant, 1U) << least.x.at({0, 0}) << ": 1.5 has one bit more than a power of two";
}

TEST(Shrink, keeps_what_the_failure_needs) {
  // Two states, one far above the other, with different o: neither fewer states nor equal numbers fail.
  const auto fails = [](const Problem& problem) {
    const auto& p = std::get<MergeProblem>(problem);
    for (std::int64_t n = 0; n + 1 < p.o.shape[0]; ++n) {
      if (std::fabs(p.lse.at({n, 0}) - p.lse.at({n + 1, 0})) > 30 && p.o.at({n, 0, 0}) != p.o.at({n + 1, 0, 0})) {
        return true;
      }
    }
    return false;
  };
  Problem whole;
  for (std::uint64_t seed = 0; seed < 50 && std::holds_alternative<SoftmaxProblem>(whole); ++seed) {
    Problem drawn = problem_of("merge:lse_gaps:" + std::to_string(seed) + ":n=6,rows=4,dv=8,format=f32");
    if (fails(drawn)) whole = std::move(drawn);
  }
  ASSERT_TRUE(std::holds_alternative<MergeProblem>(whole)) << "no seed has the hazard";
  const auto least = std::get<MergeProblem>(minimise(whole, fails, kTries));
  EXPECT_EQ(least.o.shape, (std::vector<std::int64_t>{2, 1, 1}));
  EXPECT_GT(std::fabs(least.lse.at({0, 0}) - least.lse.at({1, 0})), 30);
}

TEST(Shrink, attention_with_a_hidden_key_keeps_its_mask) {
  const auto fails = [](const Problem& problem) {
    const auto& p = std::get<AttentionProblem>(problem);
    for (std::int64_t j = 0; p.has_bias() && j < p.k_length(); ++j) {
      if (p.hidden_by_bias(0, 0, 0, j)) return true;
    }
    return false;
  };
  const Problem whole = problem_of("attention:mask_random:1:b=2,hq=2,hk=1,sq=7,sk=40,d=16,dv=8,format=f16");
  ASSERT_TRUE(fails(whole));
  const auto least = std::get<AttentionProblem>(minimise(whole, fails, kTries));
  EXPECT_TRUE(least.has_bias());
  EXPECT_EQ(least.q.elements() + least.k.elements() + least.v.elements(), 3);
}

TEST(Shrink, sequences_that_share_a_page_keep_it) {
  const auto fails = [](const Problem& problem) {  // the first page of two sequences is one
    const auto& p = std::get<AttentionProblem>(problem);
    for (std::int64_t s = 1; p.paged() && s < p.sequences(); ++s) {
      for (std::int64_t before = 0; before < s; ++before) {
        if (p.k_length(before) == 0 || p.k_length(s) == 0 || p.q_length() == 0) continue;
        if (p.page_table[static_cast<std::size_t>(s * p.pages_per_sequence())] ==
            p.page_table[static_cast<std::size_t>(before * p.pages_per_sequence())]) {
          return true;
        }
      }
    }
    return false;
  };
  const std::string keys = ":b=5,hq=2,hk=1,sq=7,sk=40,d=16,dv=8,format=f16";
  int asked = 0;
  for (int seed = 0; seed < 20 && asked < 3; ++seed) {
    const Problem whole = problem_of("attention:paged:" + std::to_string(seed) + keys);
    if (std::get<AttentionProblem>(whole).packed() || !fails(whole)) continue;
    ++asked;
    const auto least = std::get<AttentionProblem>(minimise(whole, fails, kTries));
    EXPECT_EQ(least.sequences(), 2);
    EXPECT_EQ(least.k.shape[0], 1) << "one page";
    EXPECT_EQ(least.q.elements(), 2);
  }
  EXPECT_EQ(asked, 3);
}

TEST(Brief, says_what_is_unusual_and_the_numbers_if_they_are_few) {
  SoftmaxProblem softmax{Tensor::dense(Format::f16, {1, 2}), {2}, ChunkPlan::uniform(2, 1)};
  softmax.x.set({0, 0}, 65504);
  softmax.x.set({0, 1}, -INFINITY);
  EXPECT_EQ(brief(softmax), "softmax f16: x (1, 2) = 65504, -inf; row_length 2; chunks end at 1, 2; visited 0, 1");
  const std::string attention = brief(problem_of("attention:sink:1:causal=1,format=bf16,scale=0.5"));
  EXPECT_NE(attention.find("attention bf16: sink; causal; scale 0.5; q ("), std::string::npos) << attention;
}

TEST(Shrink, exponents_go_no_further_toward_zero_than_the_failure_allows) {
  SoftmaxProblem whole = std::get<SoftmaxProblem>(problem_of("softmax:normal:1:rows=1,cols=2,format=f32,layout=dense"));
  whole.x.set({0, 0}, 0x1.8p90);
  whole.x.set({0, 1}, -0x1.4p-80);
  const auto fails = [](const Problem& problem) {
    const Tensor& x = std::get<SoftmaxProblem>(problem).x;
    return x.shape[1] == 2 && x.at({0, 0}) >= 0x1p10 && x.at({0, 1}) < 0;
  };
  const auto least = std::get<SoftmaxProblem>(minimise(whole, fails, kTries));
  EXPECT_EQ(least.x.at({0, 0}), 0x1p10);
  EXPECT_EQ(least.x.at({0, 1}), -1);
  const auto equal = [](const Problem& problem) {
    const Tensor& x = std::get<SoftmaxProblem>(problem).x;
    return x.shape[1] == 2 && x.at({0, 0}) == x.at({0, 1}) && x.at({0, 0}) >= 16;
  };
  whole.x.set({0, 0}, 0x1p10);
  whole.x.set({0, 1}, 0x1p10);
  EXPECT_EQ(std::get<SoftmaxProblem>(minimise(whole, equal, kTries)).x.at({0, 0}), 16) << "only together";
}

// The largest numbers of a format stay numbers: an infinity would be another case.
TEST(Shrink, makes_no_infinities) {
  SoftmaxProblem p{Tensor::dense(Format::f16, {1, 2}), {}, ChunkPlan::uniform(2, 2)};
  p.x.set({0, 0}, 65504);
  p.x.set({0, 1}, -65503);
  int simpler = 0;
  for_each_simpler(p, [&](const Problem& problem) {
    const auto& x = std::get<SoftmaxProblem>(problem).x;
    for (std::int64_t i = 0; i < x.elements(); ++i) EXPECT_TRUE(std::isfinite(decode(x.format, x.bits(i))));
    return ++simpler < 100;
  });
  EXPECT_GT(simpler, 5);
}

TEST(Shrink, stops_at_its_budget) {
  int calls = 0;
  minimise(problem_of("attention:feature_mix:5"), [&](const Problem&) { return ++calls > 0; }, 7);
  EXPECT_EQ(calls, 7);
}

}  // namespace
}  // namespace flashproof
