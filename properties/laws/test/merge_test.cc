// What the merge kernels promise beyond the laws: the same bits however o is stored, any order and any tree within the
// bound, an empty state is the identity whatever bytes it holds, the published forms break where their formula does.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/run/make_args.h"
#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "properties/generators/joins.h"
#include "properties/generators/plan.h"
#include "reference/bound/bound.h"
#include "reference/error/judge.h"
#include "reference/oracle/oracle.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

std::vector<const Kernel*> hardened_merges() {
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem == ProblemKind::merge && kernel.form == Form::hardened) all.push_back(&kernel);
  }
  return all;
}

MergeProblem merge_case(const std::string& line) {
  return std::get<MergeProblem>(make_case(parse_case_spec("merge:" + line)).problem);
}

/// The same numbers, `gap` elements further apart, in another order of axes.
Tensor restored(const Tensor& from, std::vector<std::int64_t> stride) {
  Tensor to = Tensor::strided(from.format, from.shape, std::move(stride));
  for (std::int64_t c = 0; c < from.shape[0]; ++c) {
    for (std::int64_t r = 0; r < from.shape[1]; ++r) {
      for (std::int64_t t = 0; t < from.shape[2]; ++t) {
        to.set_bits(c * to.stride[0] + r * to.stride[1] + t * to.stride[2],
                    from.bits(c * from.stride[0] + r * from.stride[1] + t * from.stride[2]));
      }
    }
  }
  return to;
}

TEST(Merge, WideAndNarrowAccessGiveTheSameBits) {
  for (const Kernel* kernel : hardened_merges()) {
    for (const char* format : {"f32", "f16", "bf16"}) {
      for (const char* line :
           {"mask_random:3:n=11,rows=7,dv=272,form=sum", "mask_random:3:n=11,rows=7,dv=272,form=concat",
            "mask_random:4:n=2,rows=133,dv=64,form=sum", "normal:5:n=1,rows=3,dv=8,form=sum"}) {
        MergeProblem wide = merge_case(std::string(line) + ",layout=dense,format=" + format);
        wide.o.set({0, 2, 5}, NAN);  // its NaN must be the canonical one either way
        const std::int64_t n = wide.o.shape[0], rows = wide.o.shape[1], dv = wide.o.shape[2];
        const Output first = run(*kernel, wide);
        const std::vector<std::int64_t> strides[] = {{rows * (dv + 1), dv + 1, 1},  // no row is aligned
                                                     {dv, n * dv, 1},               // states inside rows: still wide
                                                     {1, n, n * rows}};             // columns outermost
        for (const auto& stride : strides) {
          MergeProblem other = wide;
          other.o = restored(wide.o, stride);
          const Output second = run(*kernel, other);
          EXPECT_EQ(first.o.storage, second.o.storage) << kernel->id << " " << format << " " << line;
          EXPECT_EQ(first.lse.storage, second.lse.storage) << kernel->id << " " << format << " " << line;
        }
      }
    }
  }
}

TEST(Merge, OddWidthsAndManyRowsAreWritten) {
  for (const Kernel* kernel : hardened_merges()) {
    for (const int dv : {1, 3, 5, 31, 129, 513}) {
      for (const int rows : {5, dv == 3 ? 129 : 1}) {
        const MergeProblem problem =
            merge_case("normal:1:n=3,rows=" + std::to_string(rows) + ",dv=" + std::to_string(dv));
        const Output out = run(*kernel, problem);
        const Verdict verdict =
            judge(out, compute_truth(problem), compute_bound(problem, kernel->arithmetic), kernel->contract, 0).worst;
        EXPECT_EQ(verdict.kind, VerdictKind::pass)
            << kernel->id << " dv " << dv << " rows " << rows << " " << verdict.detail;
      }
    }
  }
}

/// The verdict of an output on the truth of `problem`.
Verdict judged(const Kernel& kernel, const MergeProblem& problem, const Truth& truth) {
  return judge(run(kernel, problem), truth, compute_bound(problem, kernel.arithmetic), kernel.contract, 0).worst;
}

TEST(Merge, AnyOrderAndAnyTreeStayWithinTheBoundOfOneTruth) {
  Random random(7, 1);
  for (const char* line : {"normal:0:n=24,rows=3,dv=9,form=sum", "staircase:1:n=24,rows=3,dv=9,form=sum",
                           "mask_random:2:n=24,rows=3,dv=9,form=concat"}) {
    MergeProblem problem = merge_case(line);
    const Truth truth = compute_truth(problem);  // of the states, whatever the order
    const auto n = static_cast<int>(problem.order.size());
    for (const Kernel* kernel : hardened_merges()) {
      int distinct = 0;
      Output before;
      for (std::uint64_t trial = 0; trial < 12; ++trial) {
        problem.order = draw_order(random, n, trial,
                                   trial < 2 ? std::optional<std::string>(trial == 0 ? "forward" : "reverse")
                                             : std::optional<std::string>("random"));
        problem.joins.clear();
        if (kernel->unsupported.takes(Feature::joins) && trial % 4 != 0) {
          problem.joins = draw_joins(random, n, static_cast<TreeShape>(trial % 3));
        }
        const Verdict verdict = judged(*kernel, problem, truth);
        EXPECT_EQ(verdict.kind, VerdictKind::pass) << kernel->id << " " << line << " " << verdict.detail;
        const Output now = run(*kernel, problem);
        distinct += trial > 0 && now.o.storage != before.o.storage;
        before = now;
      }
      EXPECT_GT(distinct, 0) << kernel->id << ": the order changed nothing, so nothing was tested";
    }
  }
}

TEST(Merge, AWrongTreeIsSeen) {
  // The control: the joins of another tree than the problem's move the bits, and a dropped state leaves the bound.
  const Kernel& kernel = *find_kernel("merge.pairwise_tree.hardened");
  MergeProblem problem = merge_case("normal:0:n=6,rows=3,dv=9,form=sum");
  const Truth truth = compute_truth(problem);
  const Output balanced = run(kernel, problem);
  problem.joins = {{0, 5}, {6, 1}, {7, 2}, {8, 3}, {9, 4}};
  EXPECT_NE(run(kernel, problem).o.storage, balanced.o.storage);
  for (std::int64_t r = 0; r < 3; ++r) problem.lse.set({2, r}, -INFINITY);
  EXPECT_TRUE(judged(kernel, problem, truth).failed());
}

TEST(Merge, AnEmptyStateIsTheIdentityWhateverItHolds) {
  for (const Kernel* kernel : hardened_merges()) {
    for (const std::string form : {"sum", "concat"}) {
      const bool sums = kernel->unsupported.takes(Feature::unnormalised);
      MergeProblem problem = merge_case((sums ? "unnormalised:1" : "normal:1") +
                                        std::string(":n=5,rows=3,dv=6,layout=dense,form=" + form));
      problem.joins.clear();
      for (std::int64_t r = 0; r < 3; ++r) problem.lse.set({2, r}, -INFINITY);
      Output first;
      for (const double bytes : std::initializer_list<double>{0.0, 1.0, -0.0, INFINITY, -INFINITY, NAN, 3e38}) {
        for (std::int64_t r = 0; r < 3; ++r) {
          if (sums) problem.l.set({2, r}, bytes);
          for (std::int64_t t = 0; t < 6; ++t) problem.o.set({2, r, t}, bytes);
        }
        const Output out = run(*kernel, problem);
        if (bytes == 0 && !std::signbit(bytes)) first = out;
        EXPECT_EQ(out.o.storage, first.o.storage) << kernel->id << " " << form << " " << bytes;
        EXPECT_EQ(out.lse.storage, first.lse.storage) << kernel->id << " " << form << " " << bytes;
      }
      // Without the state at all: the same bits, but for where a balanced tree puts the others.
      if (form == "concat" || kernel->arithmetic.reduction == Reduction::pairwise_tree) continue;
      MergeProblem fewer = problem;
      fewer.o = Tensor::dense(problem.o.format, {4, 3, 6});
      fewer.lse = Tensor::dense(Format::f32, {4, 3});
      if (sums) fewer.l = Tensor::dense(Format::f32, {4, 3});
      fewer.order.clear();
      for (const std::int32_t c : problem.order) {
        if (c != 2) fewer.order.push_back(c > 2 ? c - 1 : c);
      }
      for (std::int64_t c = 0; c < 4; ++c) {
        const std::int64_t old = c >= 2 ? c + 1 : c;
        for (std::int64_t r = 0; r < 3; ++r) {
          fewer.lse.set({c, r}, problem.lse.at({old, r}));
          if (sums) fewer.l.set({c, r}, problem.l.at({old, r}));
          for (std::int64_t t = 0; t < 6; ++t) fewer.o.set({c, r, t}, problem.o.at({old, r, t}));
        }
      }
      EXPECT_EQ(run(*kernel, fewer).o.storage, first.o.storage) << kernel->id;
      EXPECT_EQ(run(*kernel, fewer).lse.storage, first.lse.storage) << kernel->id;
    }
  }
}

TEST(Merge, TakesItsLargestNumberOfStatesAndNamesIt) {
  for (const Kernel* kernel : hardened_merges()) {
    const MergeProblem most = merge_case("normal:0:n=4096,rows=1,dv=2,form=sum");
    EXPECT_EQ(judged(*kernel, most, compute_truth(most)).kind, VerdictKind::pass) << kernel->id;
    MergeProblem more = most;
    more.o = Tensor::dense(Format::f32, {4097, 1, 2});
    more.lse = Tensor::dense(Format::f32, {4097, 1});
    more.order.push_back(4096);
    EXPECT_EQ(kernel->unsupported(more), "n = 4097 states: the factors are held in shared memory, legal range 1..4096");
  }
}

TEST(Merge, ATreeWithoutRoomIsRefusedWithTheNumber) {
  const Kernel& kernel = *find_kernel("merge.states_tree.hardened");
  const MergeProblem problem = merge_case("merge_tree:0:n=5,rows=2,dv=3,form=sum");
  EXPECT_EQ(kernel.workspace(problem), 184);
  Output out{Tensor::dense(Format::f32, {2, 3}), Tensor::dense(Format::f32, {2})};
  MergeArgs args = make_args(
      problem, out, [](const void* data, std::size_t) { return data; }, [](Tensor& tensor) { return tensor.data(); });
  std::vector<std::int32_t> room(46);
  args.workspace = {room.data(), 180};
  const auto launch = std::get<void (*)(const MergeArgs&, Stream)>(kernel.launch);
  EXPECT_EQ(message_of([&] { launch(args, Stream{}); }), "workspace: 180 bytes, this problem needs 184");
}

/// Two states of one column, o = 1 and 2.
MergeProblem two_states(double lse0, double lse1, MergeForm form) {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {2, 1, 1});
  p.lse = Tensor::dense(Format::f32, {2, 1});
  p.o.set({0, 0, 0}, 1);
  p.o.set({1, 0, 0}, 2);
  p.lse.set({0, 0}, lse0);
  p.lse.set({1, 0}, lse1);
  p.order = {0, 1};
  p.form = form;
  return p;
}

TEST(Merge, ThePublishedFormsBreakWhereTheirFormulaDoes) {
  // lse = lse0 + ln(1 + e^{lse1 − lse0}) of the listings online_softmax3 and _update_out_and_lse (seed 002), in f32.
  struct Line {
    const char* id;
    MergeForm form;
  };
  for (const Line& line : {Line{"merge.pairwise_naive.published", MergeForm::concat},
                           Line{"merge.ring_update.published", MergeForm::sum}}) {
    const Kernel& kernel = *find_kernel(line.id);
    const auto lse = [&](double a, double b) { return run(kernel, two_states(a, b, line.form)).lse.at({0}); };
    EXPECT_EQ(lse(0, 100), INFINITY) << line.id;
    EXPECT_TRUE(std::isnan(lse(-INFINITY, 0))) << line.id;
    EXPECT_TRUE(std::isnan(lse(-INFINITY, -INFINITY))) << line.id;
    EXPECT_EQ(lse(0, -INFINITY), 0) << line.id;
    EXPECT_EQ(lse(100, 0), 100) << line.id;
    EXPECT_EQ(run(kernel, two_states(0, -INFINITY, line.form)).o.at({0, 0}), 1) << line.id;
  }
  for (const Kernel* kernel : hardened_merges()) {
    const auto lse = [&](double a, double b) { return run(*kernel, two_states(a, b, MergeForm::sum)).lse.at({0}); };
    EXPECT_EQ(lse(0, 100), 100) << kernel->id;
    EXPECT_EQ(lse(-INFINITY, 0), 0) << kernel->id;
    EXPECT_EQ(lse(-INFINITY, -INFINITY), -INFINITY) << kernel->id;
    EXPECT_EQ(lse(0, -INFINITY), 0) << kernel->id;
    EXPECT_TRUE(std::isnan(lse(0, INFINITY)) && std::isnan(lse(NAN, -INFINITY))) << kernel->id;
    EXPECT_EQ(run(*kernel, two_states(0, 100, MergeForm::sum)).o.at({0, 0}), 2) << kernel->id;
  }
}

}  // namespace
}  // namespace flashproof
