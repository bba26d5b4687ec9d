#include "reference/problem/backward.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

BackwardProblem small() {
  BackwardProblem p;
  p.forward.q = Tensor::dense(Format::f16, {1, 4, 2, 3});
  p.forward.k = Tensor::dense(Format::f16, {1, 2, 5, 3});
  p.forward.v = Tensor::dense(Format::f16, {1, 2, 5, 6});
  p.forward.plan = ChunkPlan::uniform(5, 2);
  p.d_out = Tensor::dense(Format::f16, {1, 4, 2, 6});
  p.o = Tensor::dense(Format::f32, {1, 4, 2, 6});
  p.lse = Tensor::dense(Format::f32, {1, 4, 2});
  return p;
}

std::string complaint(const std::function<void(BackwardProblem&)>& change) {
  BackwardProblem p = small();
  change(p);
  return message_of([&] { validate(p); });
}

TEST(Backward, a_problem_that_fits_is_accepted_and_knows_its_rows) {
  const BackwardProblem p = small();
  EXPECT_NO_THROW(validate(p));
  EXPECT_EQ(p.query_rows(), 8);
  EXPECT_EQ(p.key_rows(), 10);
  EXPECT_EQ(p.group(), 2);
}

TEST(Backward, o_may_be_stored_wider_or_narrower_than_q) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    EXPECT_EQ(complaint([&](BackwardProblem& p) { p.o = Tensor::dense(format, {1, 4, 2, 6}); }),
              "(nothing was thrown)");
  }
}

TEST(Backward, every_complaint_is_one_line_that_names_the_argument) {
  const auto starts = [](const std::function<void(BackwardProblem&)>& change, const std::string& argument) {
    const std::string message = complaint(change);
    EXPECT_EQ(message.rfind(argument, 0), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  starts([](auto& p) { p.d_out = Tensor::dense(Format::f16, {1, 4, 2, 5}); }, "d_out: shape");
  starts([](auto& p) { p.d_out = Tensor::dense(Format::f32, {1, 4, 2, 6}); }, "d_out: format");
  starts([](auto& p) { p.d_out = Tensor{}; }, "d_out");
  starts([](auto& p) { p.d_out.storage.resize(3); }, "d_out");
  starts([](auto& p) { p.o = Tensor::dense(Format::f16, {1, 2, 2, 6}); }, "o: shape");
  starts([](auto& p) { p.o = Tensor::dense(Format::e5m2, {1, 4, 2, 6}); }, "o");
  starts([](auto& p) { p.o.stride[0] = -1; }, "o");
  starts([](auto& p) { p.lse = Tensor::dense(Format::f16, {1, 4, 2}); }, "lse");
  starts([](auto& p) { p.lse = Tensor::dense(Format::f32, {1, 4, 3}); }, "lse: shape");
  starts([](auto& p) { p.mode = static_cast<BackwardMode>(7); }, "mode");
  starts([](auto& p) { p.forward.softcap = 2; }, "softcap");
  starts(
      [](auto& p) {
        p.forward.sink = Tensor::dense(Format::f32, {4});
        for (int h = 0; h < 4; ++h) p.forward.sink.set({h}, 0);
      },
      "sink");
  starts([](auto& p) { p.forward.q_start = {0, 2}, p.forward.k_start = {0, 5}; }, "packed");
  starts([](auto& p) { p.forward.scale = 1.0F / 0.0F; }, "scale");
  starts(
      [](auto& p) {  // queries none, so that the forward output is empty; the gradients of the keys are not
        p.forward.q = Tensor::dense(Format::f16, {1 << 20, 4, 0, 3});
        p.forward.k = Tensor::strided(Format::f16, {1 << 20, 2, 5000, 3}, {0, 0, 0, 1});
        p.forward.v = Tensor::strided(Format::f16, {1 << 20, 2, 5000, 6}, {0, 0, 0, 1});
        p.forward.plan = ChunkPlan::uniform(5000, 5000);
        p.d_out = Tensor::dense(Format::f16, {1 << 20, 4, 0, 6});
        p.o = Tensor::dense(Format::f16, {1 << 20, 4, 0, 6});
        p.lse = Tensor::dense(Format::f32, {1 << 20, 4, 0});
      },
      "k axis 2");
}

TEST(Backward, empty_axes_are_legal) {
  EXPECT_EQ(complaint([](BackwardProblem& p) {
              p.forward.q = Tensor::dense(Format::f16, {1, 4, 0, 3});
              p.d_out = Tensor::dense(Format::f16, {1, 4, 0, 6});
              p.o = Tensor::dense(Format::f16, {1, 4, 0, 6});
              p.lse = Tensor::dense(Format::f32, {1, 4, 0});
            }),
            "(nothing was thrown)");
  EXPECT_EQ(complaint([](BackwardProblem& p) {
              p.forward.k = Tensor::dense(Format::f16, {1, 2, 0, 3});
              p.forward.v = Tensor::dense(Format::f16, {1, 2, 0, 6});
              p.forward.plan = ChunkPlan::uniform(0, 2);
            }),
            "(nothing was thrown)");
}

}  // namespace
}  // namespace flashproof
