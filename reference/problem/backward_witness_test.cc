// A backward problem as a line and as a file, and back.
#include "reference/problem/backward_witness.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

BackwardWitness sample() {
  BackwardWitness w;
  w.content.spec = parse_backward_line("attention_backward:staircase:7:format=f16,mode=gradient");
  BackwardProblem& p = w.content.problem;
  p.mode = BackwardMode::gradient;
  AttentionProblem& f = p.forward;
  f.q = Tensor::dense(Format::f16, {1, 2, 2, 3});
  f.k = Tensor::strided(Format::f16, {1, 1, 4, 3}, {40, 40, 5, 1});
  f.v = Tensor::dense(Format::f16, {1, 1, 4, 2});
  f.alibi = Tensor::dense(Format::f32, {1, 2});
  f.window_left = 1;
  f.scale = 0.5F;
  f.plan = ChunkPlan::uniform(4, 2);
  p.d_out = Tensor::dense(Format::f16, {1, 2, 2, 2});
  p.o = Tensor::strided(Format::f32, {1, 2, 2, 2}, {16, 8, 4, 2});
  p.lse = Tensor::dense(Format::f32, {1, 2, 2});
  double value = -1;
  for (Tensor* t : {&f.q, &f.k, &f.v, &p.d_out, &p.o, &f.alibi, &p.lse}) {
    const std::int64_t room = static_cast<std::int64_t>(t->storage.size()) / bytes_of(t->format);
    for (std::int64_t i = 0; i < room; ++i) t->set_bits(i, encode(t->format, value += 0.25));
  }
  // What lies between elements comes back as 0xff.
  for (Tensor* t : {&f.k, &p.o}) {
    *t = tensor_from_dense(t->format, t->shape, t->stride, static_cast<std::int64_t>(t->storage.size()),
                           dense_bytes(*t));
  }
  w.notes = {{"kernel", "attention_backward.two_kernels.hardened"}};
  return w;
}

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST(BackwardWitness, comes_back_as_it_was) {
  const BackwardWitness w = sample();
  const auto bytes = format_backward_witness(w);
  EXPECT_TRUE(is_backward_witness(bytes));
  EXPECT_EQ(parse_backward_witness(bytes, "x"), w);
  EXPECT_EQ(backward_line(w.content.spec), "attention_backward:staircase:7:format=f16,mode=gradient");
}

TEST(BackwardWitness, is_told_from_a_forward_one) {
  const auto backward = format_backward_witness(sample());
  EXPECT_NE(complaint([&] { parse_witness(backward, "x"); }).find("case: problem"), std::string::npos);
  Witness forward;
  forward.content.spec = parse_case_spec("attention:staircase:7");
  forward.content.problem = sample().content.problem.forward;
  const auto bytes = format_witness(forward);
  EXPECT_FALSE(is_backward_witness(bytes));
  EXPECT_NE(complaint([&] { parse_backward_witness(bytes, "x"); }).find("x: case: "), std::string::npos);
}

TEST(BackwardWitness, every_cut_and_what_does_not_fit_is_refused) {
  const auto bytes = format_backward_witness(sample());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THROW(parse_backward_witness(std::span(bytes).first(size), "x"), UsageError) << size;
    EXPECT_FALSE(is_backward_witness(std::span(bytes).first(size)));
  }
  BackwardWitness wrong = sample();
  wrong.content.problem.lse = Tensor::dense(Format::f32, {1, 2, 3});
  EXPECT_NE(complaint([&] { format_backward_witness(wrong); }).find("lse"), std::string::npos);
}

TEST(BackwardWitness, lines_have_their_own_name) {
  EXPECT_FALSE(is_backward_line("attention:staircase:7"));
  EXPECT_FALSE(is_backward_line("attention_backwards:staircase:7"));
  EXPECT_THROW(parse_backward_line("attention:staircase:7"), UsageError);
  EXPECT_THROW(parse_backward_line("attention_backward:"), UsageError);
  EXPECT_THROW(parse_backward_line("attention_backward"), UsageError);
}

}  // namespace
}  // namespace flashproof
