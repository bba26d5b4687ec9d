#include "fuzz/batch/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::vector<Case> softmax_cases(int count,
                                const std::string& keys = "rows=2,cols=33,chunk=16,order=forward,layout=dense") {
  std::vector<Case> cases;
  for (int seed = 0; seed < count; ++seed)
    cases.push_back(make_case(parse_case_spec("softmax:normal:" + std::to_string(seed) + ":" + keys)));
  return cases;
}

const Kernel& block() { return *find_kernel("softmax.online_block.hardened"); }

Kernel with_launch(void (*launch)(const SoftmaxArgs&, Stream)) {
  Kernel changed = block();
  changed.launch = Launch(launch);
  return changed;
}

void launch_block(const SoftmaxArgs& args, Stream stream) {
  std::get<void (*)(const SoftmaxArgs&, Stream)>(block().launch)(args, stream);
}

TEST(Batch, scores_are_those_of_each_case_alone_whatever_the_threads) {
  std::vector<Case> cases = softmax_cases(20);
  for (Case& c : softmax_cases(5, "rows=3,cols=17,layout=padded")) cases.push_back(std::move(c));  // not joined
  for (const int threads : {1, 3}) {
    Team team(threads);
    const std::vector<Score> scores = score_batch(block(), cases, {Executor::cpu, &team}).scores;
    ASSERT_EQ(scores.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Score alone = score(block(), cases[i], {});
      EXPECT_TRUE(scores[i].ran);
      EXPECT_EQ(scores[i].failed(), alone.failed());
      ASSERT_EQ(scores[i].terms.size(), alone.terms.size());
      for (std::size_t t = 0; t < alone.terms.size(); ++t) EXPECT_EQ(scores[i].terms[t].ratio, alone.terms[t].ratio);
    }
  }
}

int launches = 0;
TEST(Batch, equal_shapes_are_one_launch) {
  const Kernel counting = with_launch([](const SoftmaxArgs& args, Stream stream) {
    ++launches;
    launch_block(args, stream);
  });
  launches = 0;
  (void)score_batch(counting, softmax_cases(64), {});
  EXPECT_EQ(launches, 1);
}

TEST(Batch, what_was_one_launch_is_one_again) {
  const std::vector<Case> cases = softmax_cases(256, "rows=1,cols=5,chunk=5,order=forward,layout=dense");
  EXPECT_THAT(score_batch(block(), cases, {}).failed_launches, testing::ElementsAre(testing::SizeIs(256)));
}

TEST(Batch, a_context_lost_on_the_way_leaves_what_was_answered_before) {
  Kernel dying = block();
  static int calls;
  calls = 0;
  dying.foreign = [](const Problem& problem, const RunOptions&) {
    if (++calls == 2) throw KernelFault("cuda: illegal address");
    return run(block(), problem, {});
  };
  const std::vector<Case> cases = softmax_cases(600, "rows=1,cols=5,chunk=5,order=forward,layout=dense");
  for (const int threads : {1, 4}) {
    calls = 0;
    Team team(threads);
    const BatchResult result = score_batch(dying, cases, {Executor::cuda, &team});
    EXPECT_TRUE(result.lost);
    EXPECT_EQ(calls, 2) << "no launch after it";
    EXPECT_THAT(result.together, testing::SizeIs(256));
    EXPECT_THAT(result.failed_launches, testing::ElementsAre(testing::SizeIs(64), testing::SizeIs(256)));
    EXPECT_EQ(std::ranges::count_if(result.scores, [](const Score& score) { return score.ran; }), 64);
    for (const std::size_t i : result.failed_launches[0]) EXPECT_FALSE(result.scores[i].failed()) << i;
  }
}

TEST(Batch, many_of_equal_shape_are_several_launches) {
  Team team(2);
  const BatchResult result = score_batch(
      block(), softmax_cases(600, "rows=1,cols=5,chunk=5,order=forward,layout=dense"), {Executor::cpu, &team});
  EXPECT_THAT(result.failed_launches, testing::ElementsAre(testing::SizeIs(64), testing::SizeIs(256),
                                                           testing::SizeIs(256), testing::SizeIs(24)));
  EXPECT_TRUE(std::ranges::all_of(result.scores, [](const Score& score) { return score.ran && !score.failed(); }));
}

TEST(Batch, an_error_of_the_machine_ends_it_whatever_the_threads) {
  const Kernel broken = with_launch([](const SoftmaxArgs&, Stream) { throw InfrastructureError("no memory left"); });
  const std::vector<Case> cases = softmax_cases(600, "rows=1,cols=5,chunk=5,order=forward,layout=dense");
  for (const int threads : {1, 4}) {
    Team team(threads);
    EXPECT_THROW((void)score_batch(broken, cases, {Executor::cpu, &team}), InfrastructureError);
  }
}

TEST(Batch, cases_that_the_kernel_does_not_take_do_not_run_and_do_not_disturb) {
  std::vector<Case> cases = softmax_cases(2);
  cases.push_back(make_case(parse_case_spec("merge:normal:1:n=3,rows=2,dv=8")));
  const std::vector<Score> scores = score_batch(block(), cases, {}).scores;
  EXPECT_TRUE(scores[0].ran && scores[1].ran);
  EXPECT_FALSE(scores[2].ran);
}

TEST(Batch, a_wrong_row_is_the_finding_of_its_own_case) {
  const Kernel wrong = with_launch([](const SoftmaxArgs& args, Stream stream) {
    launch_block(args, stream);
    auto* o = static_cast<float*>(args.o);
    for (std::int64_t i = 0; i < args.rows * args.cols; ++i) {
      if (o[i] > 0.3F) o[i] += 1e-3F;
    }
  });
  const std::vector<Case> cases = softmax_cases(16);
  const std::vector<Score> scores = score_batch(wrong, cases, {}).scores;
  int wrong_ones = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Score alone = score(wrong, cases[i], {});
    EXPECT_EQ(scores[i].what, alone.what) << i;
    wrong_ones += alone.failed() ? 1 : 0;
  }
  EXPECT_GT(wrong_ones, 0);
  EXPECT_LT(wrong_ones, 16);
}

TEST(Batch, a_failure_that_needs_its_launch_says_so) {
  const Kernel lonely = with_launch([](const SoftmaxArgs& args, Stream stream) {
    launch_block(args, stream);
    if (args.rows > 8) static_cast<float*>(args.o)[5 * args.cols] += 1e-3F;  // row 5: of the third case
  });
  const BatchResult result = score_batch(lonely, softmax_cases(10), {});
  const std::vector<Score>& scores = result.scores;
  EXPECT_THAT(result.failed_launches, testing::ElementsAre(testing::SizeIs(10)));
  EXPECT_EQ(scores[2].what, "batch:exceeds_bound");
  EXPECT_THAT(scores[2].verdict.detail, testing::HasSubstr("alone it passes"));
  EXPECT_FALSE(scores[1].failed());
  EXPECT_FALSE(scores[3].failed());
}

TEST(Batch, what_the_executor_stops_is_found_in_its_own_case) {
  const Kernel deadlocked = with_launch([](const SoftmaxArgs& args, Stream stream) {
    const auto* x = static_cast<const float*>(args.x);
    for (std::int64_t i = 0; i < args.rows * args.cols; ++i) {
      if (x[i] > 2.5F) throw simt::Fault(simt::FaultKind::deadlock, "kernels/x.cu:1: deadlock");
    }
    launch_block(args, stream);
  });
  const std::vector<Case> cases = softmax_cases(16);
  const std::vector<Score> scores = score_batch(deadlocked, cases, {}).scores;
  int stopped = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(scores[i].ran);
    EXPECT_EQ(scores[i].what, score(deadlocked, cases[i], {}).what);
    stopped += scores[i].failed() ? 1 : 0;
  }
  EXPECT_GT(stopped, 0);
  EXPECT_LT(stopped, 16);
}

}  // namespace
}  // namespace flashproof
