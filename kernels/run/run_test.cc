// run() refuses before it launches, poisons what it hands out, and the kernels do what their headers say on small cases
// whose answer is known in closed form. Accuracy is the business of properties/laws.
#include "kernels/run/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

SoftmaxProblem row(const std::vector<double>& x, Format format = Format::f32) {
  SoftmaxProblem p;
  const auto cols = static_cast<std::int64_t>(x.size());
  p.x = Tensor::dense(format, {1, cols});
  for (std::int64_t j = 0; j < cols; ++j) {
    p.x.set({0, j}, x[j]);
  }
  p.plan = ChunkPlan::uniform(cols, 16);
  return p;
}

AttentionProblem attention(std::int64_t keys, std::int64_t d, std::int64_t dv) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 3, d});
  p.k = Tensor::dense(Format::f32, {1, 1, keys, d});
  p.v = Tensor::dense(Format::f32, {1, 1, keys, dv});
  for (Tensor* tensor : {&p.q, &p.k, &p.v}) {
    for (std::int64_t i = 0; i < tensor->elements(); ++i) {
      tensor->set_bits(i, encode(Format::f32, tensor == &p.v ? 1.0 : 0.0));
    }
  }
  p.plan = ChunkPlan::uniform(keys, 8);
  return p;
}

const Kernel& kernel(std::string_view id) {
  const Kernel* found = find_kernel(id);
  if (found == nullptr) {
    throw std::runtime_error("no kernel " + std::string(id));
  }
  return *found;
}

TEST(Run, refuses_a_problem_of_another_kind) {
  EXPECT_EQ(message_of([] { run(kernel("merge.pairwise_stable.hardened"), row({1, 2})); }),
            "kernel merge.pairwise_stable.hardened: takes merge problems, not softmax");
}

TEST(Run, refuses_a_row_that_does_not_fit_the_registers) {
  SoftmaxProblem p;
  p.x = Tensor::strided(Format::f32, {1, 16385}, {0, 0});
  p.x.set({0, 0}, 0);
  p.plan = ChunkPlan::uniform(16385, 1024);
  EXPECT_EQ(message_of([&] { run(kernel("softmax.online_block.hardened"), p); }),
            "kernel softmax.online_block.hardened: cols = 16385: the row is held in registers, legal range 0..16384");
}

TEST(Run, refuses_dimensions_and_chunks_that_do_not_fit) {
  EXPECT_EQ(message_of([] { run(kernel("attention.deferred.hardened"), attention(4, 577, 8)); }),
            "kernel attention.deferred.hardened: d = 577: legal range 1..576");
  AttentionProblem p = attention(3243, 256, 256);
  p.plan = ChunkPlan::uniform(3243, 3243);
  EXPECT_EQ(message_of([&] { run(kernel("attention.deferred.hardened"), p); }),
            "kernel attention.deferred.hardened: chunk = 3243: legal range 1..3242 keys at d = 256, dv = 256 (shared "
            "memory)");
}

TEST(Run, largest_legal_chunk_runs) {
  AttentionProblem p = attention(3242, 256, 256);
  p.plan = ChunkPlan::uniform(3242, 3242);
  const Output out = run(kernel("attention.deferred.hardened"), p);
  EXPECT_EQ(out.o.at({0, 0}), 1);
}

// The narrower d and dv are, the more of a block's shared memory the scores may have.
TEST(Run, longest_chunk_of_split_kv_follows_the_width) {
  const auto one_chunk = [](std::int64_t keys, std::int64_t value_dim) {
    AttentionProblem p = attention(keys, 1, value_dim);
    p.plan = ChunkPlan::uniform(keys, keys);
    return p;
  };
  const Kernel& split_kv = kernel("attention.split_kv.hardened");
  EXPECT_EQ(run(split_kv, one_chunk(57472, 1)).o.at({0, 0}), 1);
  EXPECT_EQ(message_of([&] { run(split_kv, one_chunk(57473, 128)); }),
            "kernel attention.split_kv.hardened: chunk = 57473: legal range 1..57472 keys at d = 1, dv = 128 (shared "
            "memory)");
  EXPECT_EQ(message_of([&] { run(split_kv, one_chunk(56961, 129)); }),
            "kernel attention.split_kv.hardened: chunk = 56961: legal range 1..56960 keys at d = 1, dv = 129 (shared "
            "memory)");
}

TEST(Run, published_merge_has_one_form) {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {2, 1, 1});
  p.lse = Tensor::dense(Format::f32, {2, 1});
  for (std::int64_t c = 0; c < 2; ++c) {
    p.o.set({c, 0, 0}, 1);
    p.lse.set({c, 0}, 0);
  }
  p.order = {1, 0};
  EXPECT_EQ(message_of([&] { run(kernel("merge.pairwise_naive.published"), p); }),
            "kernel merge.pairwise_naive.published: form = sum: the published formula concatenates, legal: concat");
  p.form = MergeForm::concat;
  const Output out = run(kernel("merge.pairwise_naive.published"), p);
  EXPECT_EQ(out.o.at({0, 0}), 0.5);
  EXPECT_EQ(out.o.at({0, 1}), 0.5);
}

TEST(Run, poison_is_a_nan_that_rounding_never_makes) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    EXPECT_TRUE(std::isnan(decode(format, poison_bits(format))));
    EXPECT_NE(encode(format, NAN), poison_bits(format));
  }
}

TEST(Run, the_published_block_kernel_leaves_the_tail_unwritten) {
  const Output out = run(kernel("softmax.online_block.published"), row(std::vector<double>(515, 0.0)));
  EXPECT_EQ(out.o.at({0, 511}), 1.0 / 512);
  for (std::int64_t j = 512; j < 515; ++j) {
    EXPECT_EQ(out.o.bits(j), poison_bits(Format::f32)) << j;
  }
}

TEST(Run, one_minus_infinity_among_the_first_columns_is_enough) {
  std::vector<double> x(1024, 0.0);
  x[600] = -INFINITY;
  EXPECT_EQ(run(kernel("softmax.online_block.published"), row(x)).o.at({0, 0}), round_to(Format::f32, 1.0 / 1023));
  x[600] = 0;
  x[5] = -INFINITY;
  EXPECT_TRUE(std::isnan(run(kernel("softmax.online_block.published"), row(x)).o.at({0, 0})));
  EXPECT_EQ(run(kernel("softmax.online_block.hardened"), row(x)).o.at({0, 0}), round_to(Format::f32, 1.0 / 1023));
}

TEST(Run, results_do_not_depend_on_the_schedule) {
  std::vector<double> x(777);
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[j] = std::sin(static_cast<double>(j));
  }
  for (const char* id : {"softmax.online_block.hardened", "softmax.online_two_pass.hardened"}) {
    const Output fifo = run(kernel(id), row(x));
    for (const char* schedule : {"lifo", "random:1", "random:2", "bytes:0011ff80"}) {
      const Output other = run(kernel(id), row(x), {.schedule = simt::parse_schedule(schedule)});
      EXPECT_EQ(fifo.o.storage, other.o.storage) << id << " " << schedule;
      EXPECT_EQ(fifo.lse.storage, other.lse.storage) << id << " " << schedule;
    }
  }
}

AttentionProblem one_query(const std::vector<double>& q, const std::vector<std::vector<double>>& k,
                           const std::vector<double>& v, float scale) {
  const auto d = static_cast<std::int64_t>(q.size());
  const auto keys = static_cast<std::int64_t>(k.size());
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, d});
  p.k = Tensor::dense(Format::f32, {1, 1, keys, d});
  p.v = Tensor::dense(Format::f32, {1, 1, keys, 1});
  for (std::int64_t c = 0; c < d; ++c) {
    p.q.set({0, 0, 0, c}, q[static_cast<std::size_t>(c)]);
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    p.v.set({0, 0, j, 0}, v[static_cast<std::size_t>(j)]);
    for (std::int64_t c = 0; c < d; ++c) {
      p.k.set({0, 0, j, c}, k[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)]);
    }
  }
  p.scale = scale;
  p.plan = ChunkPlan::uniform(keys, 8);
  return p;
}

TEST(Run, a_score_that_overflows_to_minus_infinity_is_not_a_hidden_key) {
  // A key that is lost in silence would leave a finite, wrong answer; a score of −inf from an infinite k hides it rightly.
  const AttentionProblem single = one_query({1e30}, {{-4e8}}, {1}, 1);
  const AttentionProblem partial = one_query({3e38, 3e38, 0, 0, 3e38, 0, 0, 0},
                                             {{-1, 1, 0, 0, -1, 0, 0, 0}, {0, -1, 0, 0, 0, 0, 0, 0}}, {1, -1}, 1e-38F);
  const AttentionProblem infinite = one_query({1, 1}, {{-INFINITY, 0}, {1, 1}}, {5, 7}, 1);
  for (const char* id : {"attention.deferred.hardened", "attention.online_chunk.hardened"}) {
    EXPECT_TRUE(std::isnan(run(kernel(id), single).o.at({0, 0}))) << id;
    EXPECT_TRUE(std::isnan(run(kernel(id), partial).o.at({0, 0}))) << id;
    EXPECT_EQ(run(kernel(id), infinite).o.at({0, 0}), 7) << id;
  }
}

TEST(Run, a_hidden_column_is_0_even_beside_nan) {
  SoftmaxProblem p = row({NAN, 1, 2, 3});
  p.row_length = {2};
  for (const char* id : {"softmax.online_block.hardened", "softmax.online_two_pass.hardened"}) {
    const Output out = run(kernel(id), p);
    EXPECT_TRUE(std::isnan(out.o.at({0, 1}))) << id;
    EXPECT_EQ(out.o.at({0, 2}), 0) << id;
    EXPECT_EQ(out.o.at({0, 3}), 0) << id;
  }
}

void writes_beyond(const SoftmaxArgs& args, Stream) { static_cast<float*>(args.o)[args.rows * args.cols] = 1.0F; }
void writes_before(const SoftmaxArgs& args, Stream) { args.lse[-1] = 1.0F; }

TEST(Run, a_write_beside_the_output_is_found_and_named) {
  const auto message = [](void (*launch)(const SoftmaxArgs&, Stream)) -> std::string {
    Kernel bad = kernel("softmax.online_two_pass.hardened");
    bad.launch = launch;
    return message_of<KernelFault>([&] { run(bad, row({1, 2, 3})); });
  };
  EXPECT_EQ(message(writes_beyond), "the kernel wrote beyond the last element of o");
  EXPECT_EQ(message(writes_before), "the kernel wrote before the first element of lse");
}

TEST(Run, foreign_code_is_called_for_what_it_takes_and_its_outputs_are_checked) {
  Kernel foreign = kernel("softmax.online_two_pass.hardened");
  const Kernel own = foreign;
  foreign.launch = static_cast<void (*)(const SoftmaxArgs&, Stream)>(nullptr);
  foreign.foreign = [&](const Problem& problem, const RunOptions& options) { return run(own, problem, options); };
  EXPECT_EQ(run(foreign, row({1, 2, 3})).o, run(own, row({1, 2, 3})).o);
  const auto fault = [&](const std::function<void(Output&)>& spoil) -> std::string {
    foreign.foreign = [&](const Problem& problem, const RunOptions& options) {
      Output output = run(own, problem, options);
      spoil(output);
      return output;
    };
    return message_of<KernelFault>([&] { run(foreign, row({1, 2, 3})); });
  };
  EXPECT_EQ(fault([](Output& out) { out.o = Tensor::dense(Format::f16, {1, 3}); }),
            "the kernel returned o as f16 (1, 3), not as f32 (1, 3)");
  EXPECT_EQ(fault([](Output& out) { out.lse = Tensor::dense(Format::f32, {2}); }),
            "the kernel returned lse as f32 (2), not as f32 (1)");
  EXPECT_EQ(fault([](Output& out) { out.lse.storage.pop_back(); }),
            "the kernel returned lse as f32 (1), not as f32 (1)");
}

TEST(Run, cuda_without_a_device_says_why) {
  std::string why;
  if (cuda_devices(&why) == 0) {
    EXPECT_FALSE(why.empty());
  }
}

}  // namespace
}  // namespace flashproof
