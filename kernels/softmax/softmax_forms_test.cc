// What the softmax kernels promise beside their numbers: the same bits from vector and scalar accesses and under every
// schedule, a clear word where a row or the workspace does not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/run/make_args.h"
#include "kernels/run/run.h"
#include "kernels/simt/cpu/executor.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

/// Rows of sines, `pad` elements further apart than they are long.
SoftmaxProblem waves(Format format, std::int64_t rows, std::int64_t cols, std::int64_t pad, std::int64_t chunk) {
  SoftmaxProblem p;
  p.x = Tensor::strided(format, {rows, cols}, {cols + pad, 1});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < cols; ++j) {
      p.x.set({r, j}, round_to(format, 5 * std::sin(static_cast<double>(r * cols + j))));
    }
  }
  p.plan = ChunkPlan::uniform(cols, chunk);
  return p;
}

constexpr const char* kByVector[] = {"softmax.fused_row.hardened", "softmax.fused_row.published",
                                     "softmax.split_row.hardened", "softmax.warp_per_row.hardened"};

TEST(SoftmaxForms, vectors_and_single_elements_give_the_same_bits) {
  for (const char* id : kByVector) {
    for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
      for (const std::int64_t cols : {8, 136, 520, 1024}) {
        const Kernel& kernel = *find_kernel(id);
        const Output by_vector = run(kernel, waves(format, 3, cols, 0, 72));
        SoftmaxProblem lengths = waves(format, 3, cols, 0, 72);
        lengths.row_length.assign(3,
                                  static_cast<std::int32_t>(cols));  // read one by one: nothing beyond a length is read
        for (const SoftmaxProblem& p : {waves(format, 3, cols, 3, 72), lengths}) {
          const Output single = run(kernel, p);
          EXPECT_EQ(by_vector.o.storage, single.o.storage) << id << " " << cols;
          EXPECT_EQ(by_vector.lse.storage, single.lse.storage) << id << " " << cols;
        }
      }
    }
  }
}

TEST(SoftmaxForms, no_result_depends_on_the_schedule) {
  const SoftmaxProblem p = waves(Format::f32, 3, 700, 0, 90);
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != ProblemKind::softmax || kernel.form != Form::hardened) continue;
    const Output fifo = run(kernel, p);
    for (const char* schedule : {"lifo", "random:1", "bytes:0011ff80"}) {
      const Output other = run(kernel, p, {.schedule = simt::parse_schedule(schedule)});
      EXPECT_EQ(fifo.o.storage, other.o.storage) << kernel.id << " " << schedule;
      EXPECT_EQ(fifo.lse.storage, other.lse.storage) << kernel.id << " " << schedule;
    }
  }
}

std::string refusal(const char* id, Format format, std::int64_t cols) {
  return find_kernel(id)->unsupported(waves(format, 0, cols, 0, 1024));
}

TEST(SoftmaxForms, a_row_that_does_not_fit_is_refused) {
  EXPECT_EQ(refusal("softmax.fused_row.hardened", Format::f32, 32768), "");
  EXPECT_EQ(refusal("softmax.fused_row.hardened", Format::f32, 32769),
            "cols = 32769: the row is held in registers, legal range 0..32768 in f32");
  EXPECT_EQ(refusal("softmax.fused_row.published", Format::bf16, 65536), "");
  EXPECT_EQ(refusal("softmax.fused_row.published", Format::bf16, 65537),
            "cols = 65537: the row is held in registers, legal range 0..65536 in bf16");
  EXPECT_EQ(refusal("softmax.warp_per_row.hardened", Format::f16, 1025),
            "cols = 1025: the row is held in the registers of a warp, legal range 0..1024");
}

TEST(SoftmaxForms, too_small_a_workspace_is_refused_before_a_launch) {
  const SoftmaxProblem p = waves(Format::f32, 2, 12, 0, 5);
  int asked = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != ProblemKind::softmax || kernel.workspace == nullptr) continue;
    const std::int64_t bytes = kernel.workspace(p);
    Output out{Tensor::dense(Format::f32, {2, 12}), Tensor::dense(Format::f32, {2})};
    SoftmaxArgs args = make_args(
        p, out, [](const void* data, std::size_t) { return data; }, [](Tensor& tensor) { return tensor.data(); });
    args.workspace = {nullptr, bytes - 1};
    std::string why;
    try {
      std::get<void (*)(const SoftmaxArgs&, Stream)>(kernel.launch)(args, Stream{});
    } catch (const UsageError& error) {
      why = error.what();
    }
    EXPECT_EQ(why, "workspace: " + std::to_string(bytes - 1) + " bytes, this problem needs " + std::to_string(bytes))
        << kernel.id;
    ++asked;
  }
  EXPECT_EQ(asked, 9);  // eager_safe, three_pass, merge_md and merge_lse_naive in two forms, split_row
}

}  // namespace
}  // namespace flashproof
