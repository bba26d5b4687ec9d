#include "reports/statistics/size_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/registry.h"
#include "properties/generators/family.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

std::string text(const SizeProfile& p) {
  std::string out;
  for (const ProfileAxis* axis : {&p.length, &p.magnitude, &p.merges}) {
    for (const auto& [octave, point] : *axis) {
      out += std::to_string(octave) + ":" + std::to_string(point.cases) + "," + std::to_string(point.max_ratio) + "," +
             std::to_string(point.max_ulp) + " ";
    }
    out += "| ";
  }
  return out;
}

TEST(SizeProfile, octaves_have_their_lower_edges) {
  EXPECT_EQ(octave_of(0), kZeroOctave);
  EXPECT_EQ(edge_of(kZeroOctave), 0);
  for (const double size : {0x1p-1074, 1e-310, 0.75, 1.0, 7.0, 8.0, 3e38, 1e200}) {
    const double edge = edge_of(octave_of(size));
    EXPECT_LE(edge, size);
    EXPECT_GT(2 * edge, size);
  }
}

TEST(SizeProfile, any_order_and_grouping_gives_the_same_maxima) {
  std::mt19937 random(1);
  std::vector<SizeProfile> ones(40);
  for (SizeProfile& one : ones) {
    const double ratio = random() % 7 == 0 ? kNan : static_cast<double>(random() % 100);
    one.add({static_cast<double>(random() % 9), static_cast<double>(random() % 5), 0}, ratio,
            static_cast<double>(random() % 50));
  }
  SizeProfile reference;
  for (const SizeProfile& one : ones) reference.merge(one);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(ones.begin(), ones.end(), random);
    SizeProfile part[3];
    for (const SizeProfile& one : ones) part[random() % 3].merge(one);
    part[1].merge(part[2]);
    part[1].merge(part[0]);
    part[1].merge({});
    EXPECT_EQ(text(part[1]), text(reference));
  }
  std::uint64_t cases = 0;
  for (const auto& [octave, point] : reference.length) cases += point.cases;
  EXPECT_EQ(cases, 40U);
}

TEST(CaseSizes, are_those_of_the_problem) {
  SoftmaxProblem softmax;
  softmax.x = Tensor::strided(Format::f32, {2, 3}, {5, 1});
  const double values[] = {1, -7, 2, std::numeric_limits<double>::infinity(), kNan, 3};
  for (std::int64_t i = 0; i < 6; ++i) softmax.x.set({i / 3, i % 3}, values[i]);
  softmax.plan = ChunkPlan::uniform(3, 1);
  const CaseSizes s = sizes_of(Problem(softmax));
  EXPECT_EQ(s.length, 3);
  EXPECT_EQ(s.magnitude, 7);  // not the padding, which is NaN, nor the infinity

  AttentionProblem attention;
  attention.q = Tensor::dense(Format::f32, {1, 1, 2, 2});
  attention.k = Tensor::dense(Format::f32, {1, 1, 4, 2});
  attention.v = Tensor::dense(Format::f32, {1, 1, 4, 1});
  for (std::int64_t i = 0; i < 2; ++i) {
    attention.q.set({0, 0, i, 0}, i == 0 ? 3 : kNan);
    attention.q.set({0, 0, i, 1}, 4);
  }
  for (std::int64_t j = 0; j < 4; ++j) {
    attention.k.set({0, 0, j, 0}, 0);
    attention.k.set({0, 0, j, 1}, static_cast<double>(j));
  }
  attention.scale = -0.5F;
  const CaseSizes a = sizes_of(Problem(attention));
  EXPECT_EQ(a.length, 4);
  EXPECT_EQ(a.magnitude, 0.5 * 5 * 3);
  attention.k_descale = Tensor::dense(Format::f32, {1, 1});
  attention.k_descale.set({0, 0}, 4);
  EXPECT_EQ(sizes_of(Problem(attention)).magnitude, 4 * 0.5 * 5 * 3);
}

TEST(CaseSizes, merges_are_one_less_than_the_units_that_are_joined) {
  SoftmaxProblem softmax;
  softmax.x = Tensor::dense(Format::f32, {1, 100});
  softmax.plan = ChunkPlan::uniform(100, 32);
  const auto merges = [&](std::string_view id, const Problem& problem) { return merges_of(*find_kernel(id), problem); };
  EXPECT_EQ(merges("softmax.naive.published", softmax), 0);  // one maximum for all
  EXPECT_EQ(merges("softmax.safe.hardened", softmax), 0);
  EXPECT_EQ(merges("softmax.online_two_pass.hardened", softmax), 3);  // chunks of 32
  EXPECT_EQ(merges("softmax.online_element.hardened", softmax), 99);  // column by column
  MergeProblem merge;
  merge.o = Tensor::dense(Format::f32, {5, 1, 1});
  merge.lse = Tensor::dense(Format::f32, {5, 1});
  EXPECT_EQ(merges("merge.nway.hardened", merge), 4);
  const Case attention = make_case(parse_case_spec("attention:normal:3:format=f32,chunk=16,sk=64"));
  EXPECT_EQ(merges("attention.deferred.hardened", attention.problem), 3);
}

}  // namespace
}  // namespace flashproof
