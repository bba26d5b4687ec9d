// The as-published kernels fail exactly where their sources' formulas break, and pass the control: a harness that
// cannot see these, or sees them everywhere, is broken itself.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

struct Expectation {
  const char* kernel;
  const char* family;
  const char* keys;  // shapes that leave only the hazard
  Failure failure;   // none: must pass
};

const Expectation kExpectations[] = {
    // seed 004: a thread whose first column is −inf; nothing beyond the last full stride of 512
    {"softmax.online_block.published", "normal", "cols=1024", Failure::none},
    {"softmax.online_block.published", "mask_random", "cols=1024", Failure::class_mismatch},
    {"softmax.online_block.published", "mask_row", "cols=1024", Failure::class_mismatch},
    {"softmax.online_block.published", "normal", "cols=1025", Failure::class_mismatch},
    {"softmax.online_block.published", "normal", "cols=511", Failure::class_mismatch},
    // seed 001: only a first visited chunk of −inf
    {"softmax.online_two_pass.published", "normal", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "mask_first_tile", "cols=1000", Failure::class_mismatch},
    {"softmax.online_two_pass.published", "mask_middle_tile", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "mask_last_tile", "cols=1000", Failure::none},
    {"softmax.online_two_pass.published", "overflow_edge", "cols=1000", Failure::none},
    // seed 002, naive: e^x beyond 88.7, its sum before that, 0/0 below −104, a row of −inf
    {"softmax.naive.published", "normal", "cols=200", Failure::none},
    {"softmax.naive.published", "mask_first_tile", "cols=200", Failure::none},
    {"softmax.naive.published", "overflow_edge", "cols=200", Failure::class_mismatch},
    {"softmax.naive.published", "sum_overflow", "cols=200", Failure::class_mismatch},
    {"softmax.naive.published", "deep_negative", "cols=200", Failure::class_mismatch},
    {"softmax.naive.published", "mask_row", "cols=200", Failure::class_mismatch},
    // seed 000, eq. 2 read literally: the same
    {"softmax.lse_unshifted.published", "normal", "cols=200", Failure::none},
    {"softmax.lse_unshifted.published", "mask_first_tile", "cols=200", Failure::none},
    {"softmax.lse_unshifted.published", "overflow_edge", "cols=200", Failure::class_mismatch},
    {"softmax.lse_unshifted.published", "sum_overflow", "cols=200", Failure::class_mismatch},
    // the maximum of the whole row subtracted: only a row of −inf
    {"softmax.safe.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.safe.published", "mask_first_tile", "cols=200", Failure::none},
    {"softmax.safe.published", "mask_row", "cols=200", Failure::class_mismatch},
    {"softmax.lse_division_free.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.lse_division_free.published", "deep_negative", "cols=200", Failure::none},
    {"softmax.lse_division_free.published", "mask_row", "cols=200", Failure::class_mismatch},
    {"softmax.eager_safe.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.eager_safe.published", "mask_row", "cols=200", Failure::class_mismatch},
    {"softmax.three_pass.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.three_pass.published", "mask_row", "cols=200", Failure::class_mismatch},
    {"softmax.fused_row.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.fused_row.published", "mask_first_tile", "cols=200", Failure::none},
    {"softmax.fused_row.published", "mask_row", "cols=200", Failure::class_mismatch},
    // seed 003: −inf before the first number; any chunk of −inf
    {"softmax.online_element.published", "staircase", "cols=200", Failure::none},
    {"softmax.online_element.published", "mask_random", "cols=200", Failure::class_mismatch},
    {"softmax.online_chunk.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.online_chunk.published", "staircase", "cols=200", Failure::none},
    {"softmax.online_chunk.published", "mask_first_tile", "cols=200", Failure::class_mismatch},
    {"softmax.online_chunk.published", "mask_middle_tile", "cols=200", Failure::class_mismatch},
    {"softmax.online_chunk.published", "mask_last_tile", "cols=200", Failure::class_mismatch},
    // seed 002, merges of blocks: any block of −inf; e^{lse} beyond 88.7, their sum before that
    {"softmax.merge_md.published", "sum_overflow", "cols=200", Failure::none},
    {"softmax.merge_md.published", "overflow_edge", "cols=200", Failure::none},
    {"softmax.merge_md.published", "mask_middle_tile", "cols=200", Failure::class_mismatch},
    {"softmax.merge_lse_naive.published", "normal", "cols=200", Failure::none},
    {"softmax.merge_lse_naive.published", "sum_overflow", "cols=200", Failure::class_mismatch},
    {"softmax.merge_lse_naive.published", "overflow_edge", "cols=200", Failure::class_mismatch},
    {"softmax.merge_lse_naive.published", "deep_negative", "cols=200", Failure::class_mismatch},
    {"softmax.merge_lse_naive.published", "mask_middle_tile", "cols=200", Failure::class_mismatch},
    // seed 002: e^{lse1 − lse0} beyond 88.7, −inf beside anything
    {"merge.pairwise_naive.published", "normal", "form=concat", Failure::none},
    {"merge.pairwise_naive.published", "mask_first_tile", "form=concat", Failure::class_mismatch},
    {"merge.pairwise_naive.published", "overflow_edge", "form=concat", Failure::class_mismatch},
    {"merge.pairwise_naive.published", "lse_gaps", "form=concat", Failure::class_mismatch},
    {"merge.pairwise_naive.published", "zero_length", "form=concat", Failure::class_mismatch},
    {"merge.pairwise_naive.published", "equal", "form=concat", Failure::none},
    {"merge.pairwise_naive.published", "chunk_order", "form=concat", Failure::none},
    {"merge.ring_update.published", "normal", "form=sum", Failure::none},
    {"merge.ring_update.published", "equal", "form=sum", Failure::none},
    {"merge.ring_update.published", "ring_order", "form=sum", Failure::none},
    {"merge.ring_update.published", "striped_order", "form=sum", Failure::none},
    {"merge.ring_update.published", "mask_first_tile", "form=sum", Failure::class_mismatch},
    {"merge.ring_update.published", "overflow_edge", "form=sum", Failure::class_mismatch},
    {"merge.ring_update.published", "lse_gaps", "form=sum", Failure::class_mismatch},
    {"merge.ring_update.published", "zero_length", "form=sum", Failure::class_mismatch},
    // seed 003: any chunk without a visible key
    {"attention.online_chunk.published", "normal", "sq=5", Failure::none},
    {"attention.online_chunk.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "mask_middle_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "mask_last_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk.published", "staircase", "sq=5", Failure::none},
    {"attention.paged.published", "paged", "sq=5,sk=40,chunk=8", Failure::class_mismatch},
    // seed 000: a row without a visible key; any chunk without one; a first chunk without one
    {"attention.three_stage.published", "normal", "sq=5", Failure::none},
    {"attention.three_stage.published", "mask_first_tile", "sq=5", Failure::none},
    {"attention.three_stage.published", "mask_row", "sq=5", Failure::class_mismatch},
    {"attention.recap_normalized.published", "normal", "sq=5", Failure::none},
    {"attention.recap_normalized.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.recap_normalized.published", "mask_middle_tile", "sq=5", Failure::class_mismatch},
    {"attention.recap_normalized.published", "mask_last_tile", "sq=5", Failure::class_mismatch},
    {"attention.recap_normalized.published", "max_window", "sq=5", Failure::none},
    {"attention.lse_running.published", "normal", "sq=5", Failure::none},
    {"attention.lse_running.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.lse_running.published", "mask_middle_tile", "sq=5", Failure::none},
    {"attention.lse_running.published", "max_window", "sq=5", Failure::none},
    // seed 003 with e^{−m} on its own: the maximum's place counts, too
    {"attention.online_element.published", "normal", "sq=5", Failure::none},
    {"attention.online_element.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_element.published", "mask_middle_tile", "sq=5", Failure::none},
    {"attention.online_element.published", "max_window", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk_split.published", "normal", "sq=5", Failure::none},
    {"attention.online_chunk_split.published", "mask_first_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk_split.published", "mask_middle_tile", "sq=5", Failure::class_mismatch},
    {"attention.online_chunk_split.published", "max_window", "sq=5", Failure::class_mismatch},
};

Verdict judged(const Kernel& kernel, const Problem& problem) {
  return judge(run(kernel, problem), compute_truth(problem), compute_bound(problem, kernel.arithmetic), kernel.contract,
               0)
      .worst;
}

TEST(Published, fails_where_its_formula_breaks_and_nowhere_else) {
  for (const Expectation& e : kExpectations) {
    const Kernel* kernel = find_kernel(e.kernel);
    ASSERT_NE(kernel, nullptr) << e.kernel;
    const std::string hardened_id = std::string(e.kernel).substr(0, std::string(e.kernel).rfind('.')) + ".hardened";
    const Kernel* hardened = find_kernel(hardened_id);
    ASSERT_NE(hardened, nullptr) << hardened_id;
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const std::string line =
          std::string(name(kernel->problem)) + ":" + e.family + ":" + std::to_string(seed) + ":" + e.keys;
      const Case subject = make_case(parse_case_spec(line));
      const Verdict verdict = judged(*kernel, subject.problem);
      const bool refuses = hardened->contract.refuses_beyond_range && e.failure != Failure::none;
      EXPECT_TRUE(refuses || !judged(*hardened, subject.problem).failed()) << hardened_id << " " << line;
      if (e.failure == Failure::none) {
        EXPECT_EQ(verdict.kind, VerdictKind::pass) << e.kernel << " " << line << " " << verdict.detail;
      } else {
        failed += verdict.failed() && verdict.failure == e.failure;
      }
    }
    if (e.failure != Failure::none) {
      EXPECT_GE(failed, 1) << e.kernel << " must fail on " << e.family << " " << e.keys;
    }
  }
}

SoftmaxProblem row_of_four(double x, std::int64_t chunk) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, 4});
  for (std::int64_t j = 0; j < 4; ++j) p.x.set({0, j}, x);
  p.plan = ChunkPlan::uniform(4, chunk);
  return p;
}

TEST(Published, a_sum_that_overflows_before_its_terms_leaves_finite_zeros) {
  for (const char* algorithm : {"softmax.naive", "softmax.lse_unshifted", "softmax.merge_lse_naive"}) {
    const std::string id(algorithm);
    for (const double x : {87.0, 88.0}) {
      const SoftmaxProblem p = row_of_four(x, 1);
      const double published = run(*find_kernel(id + ".published"), p).o.at({0, 2});
      const double hardened = run(*find_kernel(id + ".hardened"), p).o.at({0, 2});
      if (x == 87.0) {
        EXPECT_NEAR(published, 0.25, 0x1p-15) << id;  // lse ≈ 88.4, rounded by 2^-18
        EXPECT_EQ(hardened, published) << id;
      } else {
        EXPECT_EQ(published, 0) << id;
        EXPECT_TRUE(std::isnan(hardened)) << id;
      }
    }
  }
}

/// The same keys in one piece, with room behind them, and in pages of `size` slots in reverse order.
struct TwoStorages {
  AttentionProblem piece, pages;
};
TwoStorages stored_twice(const AttentionProblem& drawn, std::int64_t size) {
  const std::int64_t keys = drawn.k_length(), count = (keys + size - 1) / size;
  TwoStorages both{drawn, drawn};
  for (AttentionProblem* p : {&both.piece, &both.pages}) {
    const bool paged = p == &both.pages;
    p->plan = ChunkPlan::uniform(count * size, 12);
    p->key_length.assign(static_cast<std::size_t>(drawn.batch()), static_cast<std::int32_t>(keys));
    for (Tensor AttentionProblem::* member : {&AttentionProblem::k, &AttentionProblem::v}) {
      const Tensor& from = drawn.*member;
      Tensor& to = p->*member;
      to = Tensor::dense(from.format, {(paged ? count : 1) * drawn.batch(), from.shape[1], paged ? size : count * size,
                                       from.shape[3]});
      for (std::int64_t b = 0; b < drawn.batch(); ++b) {
        for (std::int64_t h = 0; h < from.shape[1]; ++h) {
          for (std::int64_t j = 0; j < keys; ++j) {
            const std::int64_t outer = paged ? (b + 1) * count - 1 - j / size : b;
            for (std::int64_t t = 0; t < from.shape[3]; ++t) {
              to.set({outer, h, paged ? j % size : j, t}, from.at({b, h, j, t}));
            }
          }
        }
      }
    }
  }
  for (std::int64_t entry = 0; entry < drawn.batch() * count; ++entry) {
    both.pages.page_table.push_back(static_cast<std::int32_t>((entry / count + 1) * count - 1 - entry % count));
  }
  return both;
}

// The paged kernel is the chunk kernel over a block table: pages change no bit, and their unused slots (NaN) do not show.
TEST(Published, pages_change_no_bit) {
  for (const char* form : {"published", "hardened"}) {
    const Kernel* paged = find_kernel(std::string("attention.paged.") + form);
    const Kernel* piece = find_kernel(std::string("attention.online_chunk.") + form);
    ASSERT_TRUE(paged != nullptr && piece != nullptr);
    for (const char* line : {"attention:chunk_order:1:hk=1,hq=3,sq=3,sk=41,causal=0,format=f16",
                             "attention:one_signed_v:2:b=2,sq=5,sk=17,causal=0"}) {
      AttentionProblem drawn = std::get<AttentionProblem>(make_case(parse_case_spec(line)).problem);
      drawn.bias = Tensor{};
      for (const std::int64_t size : {1, 16, 64, 256}) {
        const TwoStorages both = stored_twice(drawn, size);
        const Output expected = run(*piece, both.piece);
        const Output got = run(*paged, both.pages);
        EXPECT_EQ(got.o, expected.o) << paged->id << " " << line << " pages of " << size;
        EXPECT_EQ(got.lse, expected.lse) << paged->id << " " << line << " pages of " << size;
        EXPECT_EQ(judged(*paged, both.pages).kind, VerdictKind::pass) << paged->id << " " << line;
      }
    }
  }
}

/// Two chunks of 16 keys with the maxima `level` − ½ and `level`, one query, d = 1.
AttentionProblem rising_to(double level) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::f32, {1, 1, 32, 1});
  p.v = Tensor::dense(Format::f32, {1, 1, 32, 1});
  p.q.set({0, 0, 0, 0}, 1);
  for (std::int64_t j = 0; j < 32; ++j) {
    p.k.set({0, 0, j, 0}, level - (j < 16 ? 0.5 : 0) - 0.01 * static_cast<double>(j % 16));
    p.v.set({0, 0, j, 0}, 1 + 0.1 * static_cast<double>(j % 5));
  }
  p.plan = ChunkPlan::uniform(32, 16);
  return p;
}

// The factor of attention/separated.h: right to some 87, silently wrong where e^{−m} is subnormal, NaN beyond 104 and below −88.
TEST(Published, separated_exponentials_are_silently_wrong_before_they_are_nan) {
  for (const char* form : {"attention.online_element", "attention.online_chunk_split"}) {
    const Kernel* published = find_kernel(std::string(form) + ".published");
    const Kernel* hardened = find_kernel(std::string(form) + ".hardened");
    ASSERT_TRUE(published != nullptr && hardened != nullptr);
    for (const double level : {-80.0, 0.0, 60.0, 80.0}) {
      EXPECT_EQ(judged(*published, rising_to(level)).kind, VerdictKind::pass) << form << " " << level;
      EXPECT_EQ(judged(*hardened, rising_to(level)).kind, VerdictKind::pass) << form << " " << level;
    }
    for (const double level : {98.0, 100.0, 103.0}) {
      const Problem problem = rising_to(level);
      EXPECT_TRUE(std::isfinite(run(*published, problem).o.at({0, 0}))) << form << " " << level;
      EXPECT_TRUE(judged(*published, problem).failed()) << form << " " << level;
    }
    for (const double level : {-90.0, 105.0}) {
      EXPECT_TRUE(std::isnan(run(*published, rising_to(level)).o.at({0, 0}))) << form << " " << level;
    }
    for (const double level : {-90.0, 98.0, 100.0, 103.0, 105.0}) {
      const Problem problem = rising_to(level);
      EXPECT_TRUE(std::isnan(run(*hardened, problem).o.at({0, 0}))) << form << " " << level;
      EXPECT_TRUE(std::isnan(run(*hardened, problem).lse.at({0}))) << form << " " << level;
      EXPECT_EQ(judged(*hardened, problem).kind, VerdictKind::out_of_domain) << form << " " << level;
    }
  }
}

}  // namespace
}  // namespace flashproof
