#include "reference/problem/problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "reference/problem/witness/samples.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

template <class P>
struct Spoiled {
  std::string message;  // what it must say: the argument and the legal range
  std::function<void(P&)> spoil;
};

/// The good problem passes; each spoiled copy is refused with its message.
template <class P>
void expect_refused(const P& good, const std::vector<Spoiled<P>>& table) {
  EXPECT_NO_THROW(validate(good));
  for (const auto& [message, spoil] : table) {
    P bad = good;
    spoil(bad);
    try {
      validate(Problem(bad));
      ADD_FAILURE() << "accepted; should say " << message;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
    }
  }
}

TEST(Validate, Softmax) {
  using P = SoftmaxProblem;
  const std::vector<Spoiled<P>> table = {
      {"x: format e5m2 must be f32, f16 or bf16", [](P& p) { p.x.format = Format::e5m2; }},
      {"x: format f64", [](P& p) { p.x.format = Format::f64; }},
      {"x: 1 axes, must be 2", [](P& p) { p.x.shape = {3}; }},
      {"x: 0 axes, must be 2", [](P& p) { p.x = Tensor(); }},
      {"x: shape (-3, 5), every extent must be 0..2147483647", [](P& p) { p.x.shape[0] = -3; }},
      {"x: shape (2147483648, 5)", [](P& p) { p.x.shape[0] = std::int64_t{1} << 31; }},
      {"at most 2^40 elements", [](P& p) { p.x.shape = {1 << 30, 1 << 30}, p.x.stride = {0, 0}; }},
      {"x: stride: axis 0 is -8, must be 0 or more", [](P& p) { p.x.stride[0] = -8; }},
      {"x: stride: 1 numbers for 2 axes", [](P& p) { p.x.stride = {8}; }},
      {"below 2^63", [](P& p) { p.x.stride[0] = std::int64_t{1} << 62; }},
      {"x: 40 bytes of storage, must be at least 42", [](P& p) { p.x.storage.resize(40); }},
      {"x: 47 bytes of storage, must be at least 42 and a multiple of 2", [](P& p) { p.x.storage.resize(47); }},
      {"output: 65536 x 65536 elements, must be at most 2147483647",
       [](P& p) { p.x.shape = {65536, 65536}, p.x.stride = {0, 0}; }},
      {"row_length: 2 lengths, must be none or 3", [](P& p) { p.row_length = {1, 2}; }},
      {"row_length[1]: -1, must be 0..5", [](P& p) { p.row_length[1] = -1; }},
      {"row_length[2]: 6, must be 0..5", [](P& p) { p.row_length[2] = 6; }},
      {"plan.boundary: must begin with 0 and end with the length 5", [](P& p) { p.plan.boundary = {}; }},
      {"plan.boundary: must begin", [](P& p) { p.plan.boundary = {1, 2, 5}; }},
      {"plan.boundary: must begin", [](P& p) { p.plan.boundary = {0, 2, 4}; }},
      {"plan.boundary[2]: 2, must be 3..5", [](P& p) { p.plan.boundary = {0, 2, 2, 5}; }},
      {"plan.boundary[2]: 5, must be 7..5", [](P& p) { p.plan.boundary = {0, 6, 5}; }},
      {"plan.order: 1 entries, must be 2", [](P& p) { p.plan.order = {0}; }},
      {"plan.order[1]: 0, must be a permutation of 0..1", [](P& p) { p.plan.order = {0, 0}; }},
      {"plan.order[0]: 2, must be a permutation of 0..1", [](P& p) { p.plan.order = {2, 0}; }},
      {"plan.order[0]: -1, must be a permutation of 0..1", [](P& p) { p.plan.order = {-1, 0}; }},
  };
  expect_refused(std::get<P>(sample_softmax().content.problem), table);
}

TEST(Validate, Merge) {
  using P = MergeProblem;
  const std::vector<Spoiled<P>> table = {
      {"o: 2 axes, must be 3", [](P& p) { p.o = Tensor::dense(Format::f32, {2, 3}); }},
      {"o axis 0 (states): 0, must be 1..", [](P& p) { p.o = Tensor::dense(Format::f32, {0, 3, 4}); }},
      {"o axis 2 (dv): 0, must be 1..65536", [](P& p) { p.o = Tensor::dense(Format::f32, {2, 3, 0}); }},
      {"o axis 2 (dv): 65537", [](P& p) { p.o = Tensor::strided(Format::f32, {2, 3, 65537}, {0, 0, 0}); }},
      {"lse: format f16 must be f32", [](P& p) { p.lse = Tensor::dense(Format::f16, {2, 3}); }},
      {"lse: shape (3, 2), must be (2, 3)", [](P& p) { p.lse = Tensor::dense(Format::f32, {3, 2}); }},
      {"order: 1 entries, must be 2", [](P& p) { p.order = {0}; }},
      {"order[1]: 1, must be a permutation of 0..1", [](P& p) { p.order = {1, 1}; }},
      {"form: must be sum or concat", [](P& p) { p.form = static_cast<MergeForm>(2); }},
      {"output: 65536 x 131072 elements",
       [](P& p) {
         p.o = Tensor::strided(Format::f32, {2, 65536, 65536}, {0, 0, 0});
         p.lse = Tensor::strided(Format::f32, {2, 65536}, {0, 0});
       }},
  };
  expect_refused(std::get<P>(sample_merge().content.problem), table);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Validate, MergeStatesAndTrees) {
  using P = MergeProblem;
  const std::vector<Spoiled<P>> table = {
      {"l: format f16 must be f32", [](P& p) { p.l.format = Format::f16; }},
      {"l: 1 axes, must be 2", [](P& p) { p.l = Tensor::dense(Format::f32, {4}); }},
      {"l: shape (2, 4), must be (4, 2)", [](P& p) { p.l = Tensor::dense(Format::f32, {2, 4}); }},
      {"l: 4 bytes of storage, must be at least", [](P& p) { p.l.storage.resize(4); }},
      {"l: without a shape it must have no stride", [](P& p) { p.l.shape.clear(); }},
      {"l[2, 1]: -1, must be 0 or more, or NaN, where lse is not -inf", [](P& p) { p.l.set({2, 1}, -1.0); }},
      {"l[3, 0]: -inf, must be 0 or more", [](P& p) { p.l.set({3, 0}, -kInf); }},
      {"l[3, 0]: -1e-45, must be 0 or more", [](P& p) { p.l.set({3, 0}, -0x1p-149), p.lse.set({3, 0}, kNan); }},
      {"joins: 2 joins, must be none or 3, one fewer than states", [](P& p) { p.joins.pop_back(); }},
      {"joins: 4 joins, must be none or 3", [](P& p) { p.joins.push_back({4, 5}); }},
      {"joins[0]: node -1, must be 0..3", [](P& p) { p.joins[0].left = -1; }},
      {"joins[0]: node 4, must be 0..3", [](P& p) { p.joins[0].right = 4; }},
      {"joins[2]: node 6, must be 0..5", [](P& p) { p.joins[2].right = 6; }},
      {"joins[1]: node 1 is used twice", [](P& p) { p.joins[1] = {0, 1}; }},
      {"joins[2]: node 5 is used twice", [](P& p) { p.joins[2] = {5, 5}; }},
      {"joins[1]: node 2147483647, must be 0..4", [](P& p) { p.joins[1].left = 2147483647; }},
  };
  P good = std::get<P>(sample_merge_states().content.problem);
  good.l = Tensor::dense(Format::f32, {4, 2});
  for (std::int64_t n = 0; n < 8; ++n) good.l.set({n / 2, n % 2}, 0.5);
  expect_refused(good, table);
  const std::vector<std::function<void(P&)>> legal = {
      [](P& p) { p.l.set({2, 1}, kNan); },
      [](P& p) { p.l.set({2, 1}, kInf); },
      [](P& p) { p.l.set({2, 1}, -0.0); },
      [](P& p) { p.l.set({0, 0}, -1.0), p.lse.set({0, 0}, -kInf); },  // empty, whatever it holds
      [](P& p) { p.l = Tensor(); },
      [](P& p) { p.joins.clear(); },
      [](P& p) { p.joins = {{0, 1}, {4, 2}, {5, 3}}; },
      [](P& p) { p.form = p.form == MergeForm::sum ? MergeForm::concat : MergeForm::sum; },
  };
  for (std::size_t n = 0; n < legal.size(); ++n) {
    P p = good;
    legal[n](p);
    EXPECT_NO_THROW(validate(p)) << n;
  }
  P one;  // nothing to join
  one.o = Tensor::dense(Format::f32, {1, 1, 1});
  one.lse = Tensor::dense(Format::f32, {1, 1});
  one.order = {0};
  EXPECT_NO_THROW(validate(one));
  one.joins = {{0, 0}};
  EXPECT_THROW(validate(one), UsageError);
}

// Strides of 0 and overlapping ones make many elements of few numbers.
TEST(Validate, MergeStatesOfHostileSizes) {
  MergeProblem p;
  constexpr std::int64_t n = 1 << 16;
  p.o = Tensor::strided(Format::f32, {n, n, 1}, {0, 0, 0});
  p.lse = p.l = Tensor::strided(Format::f32, {n, n}, {1, 1});
  for (std::int64_t s = 0; s < n; ++s) p.order.push_back(static_cast<std::int32_t>(s));
  try {
    validate(p);
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("l: 65536 x 65536 elements, must be at most 2147483647"));
  }
}

TEST(Validate, Attention) {
  using P = AttentionProblem;
  const std::vector<Spoiled<P>> table = {
      {"q: 3 axes, must be 4", [](P& p) { p.q = Tensor::dense(Format::bf16, {2, 3, 4}); }},
      {"v: format bf16, must be that of k, f16", [](P& p) { p.k.format = Format::f16; }},
      {"v: format f16, must be that of k, bf16", [](P& p) { p.v.format = Format::f16; }},
      {"q: format f64 must be f32, f16, bf16, e4m3fn or e5m2", [](P& p) { p.q.format = Format::f64; }},
      {"v: format e4m3fn, must be that of k, bf16", [](P& p) { p.v.format = Format::e4m3fn; }},
      {"q axis 3 (d): 0, must be 1..65536", [](P& p) { p.q = Tensor::dense(Format::bf16, {2, 2, 3, 0}); }},
      {"v axis 3 (dv): 0, must be 1..65536", [](P& p) { p.v = Tensor::dense(Format::bf16, {2, 1, 5, 0}); }},
      {"k axis 1 (heads): 0, must be 1..", [](P& p) { p.k = Tensor::dense(Format::bf16, {2, 0, 5, 4}); }},
      {"q axis 1 (heads): 0, must be 1..", [](P& p) { p.q = Tensor::dense(Format::bf16, {2, 0, 3, 4}); }},
      {"q axis 1 (heads): 2, must be a multiple of the 3 heads of k",
       [](P& p) { p.k = Tensor::dense(Format::bf16, {2, 3, 5, 4}); }},
      {"k: shape (1, 1, 5, 4), must be (2, 1, 5, 4)", [](P& p) { p.k.shape[0] = 1; }},
      {"k: shape (2, 1, 5, 3), must be (2, 1, 5, 4)", [](P& p) { p.k.shape[3] = 3; }},
      {"v: shape (2, 1, 4, 2), must be (2, 1, 5, 2)", [](P& p) { p.v.shape[2] = 4; }},
      {"v: shape (2, 2, 5, 2), must be (2, 1, 5, 2)", [](P& p) { p.v = Tensor::dense(Format::bf16, {2, 2, 5, 2}); }},
      {"scale: must be finite", [](P& p) { p.scale = std::numeric_limits<float>::infinity(); }},
      {"scale: must be finite", [](P& p) { p.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"bias: format bf16 must be f32", [](P& p) { p.bias.format = Format::bf16; }},
      {"bias: shape (2, 1, 3, 5), must be (2, 2, 3, 5)", [](P& p) { p.bias.shape[1] = 1; }},
      {"bias: without a shape it must have no stride and no storage", [](P& p) { p.bias.shape.clear(); }},
      {"key_length: 1 lengths, must be none or 2", [](P& p) { p.key_length = {5}; }},
      {"key_length[1]: 6, must be 0..5", [](P& p) { p.key_length[1] = 6; }},
      {"plan.boundary", [](P& p) { p.plan = ChunkPlan::uniform(4, 2); }},
      {"plan.order", [](P& p) { p.plan.order = {0, 1, 1}; }},
  };
  expect_refused(std::get<P>(sample_attention().content.problem), table);
}

TEST(Validate, EmptyProblemsAreLegal) {
  SoftmaxProblem s;
  s.x = Tensor::dense(Format::f32, {0, 4});
  s.plan = ChunkPlan::uniform(4, 3);
  EXPECT_NO_THROW(validate(s));
  s.x = Tensor::dense(Format::f32, {4, 0});
  s.plan = ChunkPlan::uniform(0, 3);
  EXPECT_NO_THROW(validate(s));
  MergeProblem m;
  m.o = Tensor::dense(Format::f16, {1, 0, 4});
  m.lse = Tensor::dense(Format::f32, {1, 0});
  m.order = {0};
  EXPECT_NO_THROW(validate(m));
  AttentionProblem a;
  a.q = Tensor::dense(Format::f16, {0, 2, 0, 4});
  a.k = a.v = Tensor::dense(Format::f16, {0, 2, 0, 4});
  a.plan = ChunkPlan::uniform(0, 1);
  EXPECT_NO_THROW(validate(a));
}

TEST(ChunkPlan, Uniform) {
  EXPECT_EQ(ChunkPlan::uniform(7, 3), (ChunkPlan{{0, 3, 6, 7}, {0, 1, 2}}));
  EXPECT_EQ(ChunkPlan::uniform(6, 3), (ChunkPlan{{0, 3, 6}, {0, 1}}));
  EXPECT_EQ(ChunkPlan::uniform(2, std::int64_t{1} << 62), (ChunkPlan{{0, 2}, {0}}));
  EXPECT_EQ(ChunkPlan::uniform(0, 3), (ChunkPlan{{0}, {}}));
  EXPECT_THROW(ChunkPlan::uniform(4, 0), UsageError);
  EXPECT_THROW(ChunkPlan::uniform(-1, 1), UsageError);
  EXPECT_THROW(ChunkPlan::uniform(std::int64_t{1} << 31, 1 << 30), UsageError);
}

TEST(Problems, ShapeFormatAndKind) {
  const Problem softmax = sample_softmax().content.problem;
  const Problem attention = sample_attention().content.problem;
  Problem merge = sample_merge().content.problem;
  EXPECT_EQ(kind_of(softmax), ProblemKind::softmax);
  EXPECT_EQ(name(kind_of(merge)), "merge");
  EXPECT_EQ(format_of(attention), Format::bf16);
  EXPECT_EQ(output_shape(softmax).rows, 3);
  EXPECT_EQ(output_shape(softmax).width, 5);
  EXPECT_EQ(output_shape(merge).width, 8) << "two blocks of four side by side";
  std::get<MergeProblem>(merge).form = MergeForm::sum;
  EXPECT_EQ(output_shape(merge).width, 4);
  EXPECT_EQ(output_shape(attention).rows, 2 * 2 * 3);
  EXPECT_EQ(output_shape(attention).width, 2);
}

// Sq = 3, Sk = 5, lengths 5 and 3, causal: the last query of batch 0 sees all, the first sees 0..2.
TEST(Problems, Visibility) {
  const auto p = std::get<AttentionProblem>(sample_attention().content.problem);
  EXPECT_TRUE(p.position_visible(0, 2, 4));
  EXPECT_TRUE(p.position_visible(0, 0, 2));
  EXPECT_FALSE(p.position_visible(0, 0, 3)) << "causal, bottom-right aligned";
  EXPECT_TRUE(p.position_visible(1, 2, 2));
  EXPECT_FALSE(p.position_visible(1, 2, 3)) << "beyond the batch's length";
  EXPECT_TRUE(p.hidden_by_bias(1, 0, 2, 3));
  EXPECT_FALSE(p.hidden_by_bias(0, 0, 2, 3));
  EXPECT_EQ(p.kv_head(1), 0);
}

}  // namespace
}  // namespace flashproof
