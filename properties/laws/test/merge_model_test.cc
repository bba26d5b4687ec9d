// The merge kernels have the bits of the model of what they declare. The model rounds e^x and ln x to nearest, so the
// text of the kernels is compiled once more here, in a namespace where math_exp and math_log do. Nothing else is changed: one
// operation in another order, fused or left out, and some bit differs.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/maximum.h"
#include "kernels/registry.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

#undef FP_EXECUTOR
#define FP_EXECUTOR nearest
namespace flashproof::nearest {
using namespace flashproof::cpu;  // what is declared here comes first
inline float math_exp(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
inline float math_log(float x) { return static_cast<float>(std::log(static_cast<double>(x))); }
}  // namespace flashproof::nearest

#include "kernels/merge/division_free.h"
#include "kernels/merge/nway.h"
#include "kernels/merge/pairwise_naive.h"
#include "kernels/merge/pairwise_tree.h"
#include "kernels/merge/ring_update.h"
#include "kernels/merge/states_tree.h"
#include "kernels/run/make_args.h"
#include "properties/generators/family.h"
#include "reference/model/model.h"

namespace flashproof {
namespace {

struct Twin {
  const char* id;  // whose declaration it is
  void (*launch)(const MergeArgs&, Stream);
};

constexpr Twin kTwins[] = {
    {"merge.pairwise_naive.hardened", nearest::launch_fold<nearest::OneSided<MergeHardened>>},
    {"merge.pairwise_stable.hardened", nearest::launch_fold<nearest::Stable>},
    {"merge.pairwise_tree.hardened", nearest::launch_tree<nearest::Stable>},
    {"merge.ring_update.hardened", nearest::launch_fold<nearest::Running<MergeHardened>>},
    {"merge.nway.hardened", nearest::launch_flat<nearest::FlatWeights::shifted>},
    {"merge.division_free.hardened", nearest::launch_flat<nearest::FlatWeights::division_free>},
    {"merge.states.hardened", nearest::launch_fold<nearest::MaxSum>},
    {"merge.states_tree.hardened", nearest::launch_tree<nearest::MaxSum>},
};

Output run_twin(const Twin& twin, const Kernel& kernel, const MergeProblem& problem) {
  const OutputShape shape = output_shape(problem);
  Output out{Tensor::dense(format_of(problem), {shape.rows, shape.width}), Tensor::dense(Format::f32, {shape.rows})};
  MergeArgs args = make_args(
      problem, out, [](const void* data, std::size_t) { return data; }, [](Tensor& tensor) { return tensor.data(); });
  std::vector<std::int32_t> room(kernel.workspace == nullptr ? 0
                                                             : static_cast<std::size_t>(kernel.workspace(problem) / 4));
  args.workspace = {room.data(), static_cast<std::int64_t>(4 * room.size())};
  twin.launch(args, Stream{});
  return out;
}

/// The same bits, but any NaN is a NaN, and a sum from 0 on loses the sign of a zero.
bool same(const Tensor& a, const Tensor& b, std::int64_t i) {
  const double x = decode(a.format, a.bits(i));
  const double y = decode(b.format, b.bits(i));
  return x == y || (std::isnan(x) && std::isnan(y));
}

struct ModelCounts {
  int rows = 0, different = 0;
  int mended = 0;  // lse is a number, where the formula as it is declared overflows or has inf − inf
  std::string first = {};
};

void compare(const Output& out, const Output& model, const CaseSpec& spec, ModelCounts& tally) {
  const std::int64_t rows = out.lse.elements();
  const std::int64_t width = rows == 0 ? 0 : out.o.elements() / rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    ++tally.rows;
    if (!(model.lse.at({r}) < INFINITY) && out.lse.at({r}) < INFINITY) {
      ++tally.mended;
      continue;
    }
    bool equal = same(out.lse, model.lse, r);
    for (std::int64_t c = 0; c < width; ++c) equal = equal && same(out.o, model.o, r * width + c);
    tally.different += equal ? 0 : 1;
    if (!equal && tally.first.empty()) tally.first = to_string(spec);
  }
}

ModelCounts compare_all(const Twin& twin, const Arithmetic& arithmetic) {
  constexpr const char* kFormats[] = {"f32", "f16", "bf16"};
  const Kernel& kernel = *find_kernel(twin.id);
  ModelCounts tally;
  for (const Family& family : families()) {
    if (!family.serves(ProblemKind::merge)) continue;
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Case subject =
          make_case({ProblemKind::merge, std::string(family.name), seed, {{"format", kFormats[seed % 3]}}});
      const auto& problem = std::get<MergeProblem>(subject.problem);
      if (!kernel.unsupported(problem).empty()) continue;
      compare(run_twin(twin, kernel, problem), run_model(problem, arithmetic), subject.spec, tally);
    }
  }
  return tally;
}

TEST(MergeModel, EveryHardenedMergeHasATwinHere) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.problem != ProblemKind::merge || kernel.form != Form::hardened) continue;
    bool found = false;
    for (const Twin& twin : kTwins) found = found || twin.id == kernel.id;
    EXPECT_TRUE(found) << kernel.id;
  }
}

TEST(MergeModel, KernelsHaveTheBitsOfTheirDeclaration) {
  for (const Twin& twin : kTwins) {
    const Arithmetic& arithmetic = find_kernel(twin.id)->arithmetic;
    const ModelCounts tally = compare_all(twin, arithmetic);
    EXPECT_EQ(tally.different, 0) << twin.id << ": of " << tally.rows << " rows, first " << tally.first;
    EXPECT_GE(tally.rows - tally.mended, 400) << twin.id;
    // Only the two forms whose e^{difference} can overflow are given a value there.
    const bool overflows =
        arithmetic.merge_weights == MergeWeights::one_sided || arithmetic.merge_weights == MergeWeights::running;
    EXPECT_EQ(tally.mended > 0, overflows) << twin.id << ": " << tally.mended;
  }
}

TEST(MergeModel, AnotherDeclarationIsSeen) {
  const Twin& stable = kTwins[1];
  for (const char* other : {"merge.pairwise_naive.hardened", "merge.ring_update.hardened", "merge.nway.hardened",
                            "merge.division_free.hardened", "merge.states.hardened"}) {
    const ModelCounts tally = compare_all(stable, find_kernel(other)->arithmetic);
    EXPECT_GE(tally.different, tally.rows / 5) << other << ": of " << tally.rows;
  }
}

}  // namespace
}  // namespace flashproof
