// The mma kernels where the families do not go: features, long chunks, groups of heads, every width, both matrix units,
// lazy copies. The judge is the same as everywhere: truth, bound, laws.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "properties/laws/teeth_cases.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::vector<const Kernel*> mma_kernels() {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels()) {
    if (kernel.id.starts_with("attention.mma")) found.push_back(&kernel);
  }
  return found;
}

/// Scores of standard deviation 12, so that few keys carry a row: P in e4m3 loses the weights of many equal ones below its
/// smallest number, and a bound that allows for that decides nothing.
std::string peaked(int d) { return fmt::format("{}", 12 / std::sqrt(static_cast<double>(d))); }

AttentionProblem drawn(const Kernel& kernel, std::uint64_t seed, std::map<std::string, std::string> keys) {
  if (keys.contains("d") && !keys.contains("scale")) keys["scale"] = peaked(std::stoi(keys["d"]));
  keys["format"] = info(kernel.formats[0]).name;
  return std::get<AttentionProblem>(make_case({ProblemKind::attention, "normal", seed, std::move(keys)}).problem);
}

void expect_right(const Kernel& kernel, const AttentionProblem& p, const RunOptions& options = {}) {
  ASSERT_EQ(kernel.unsupported(p), "");
  TeethCase subject({{ProblemKind::attention, "normal", 1, {}}, p});
  for (const Verdict& verdict : judge_output(on_unit(kernel, options.matrix_unit), subject, run(kernel, p, options))) {
    EXPECT_EQ(to_string(verdict), "pass") << kernel.id << ": " << verdict.detail;
  }
}

bool same_bits(const Output& a, const Output& b) {
  return a.o.storage == b.o.storage && a.lse.storage == b.lse.storage;
}

TEST(MmaKernels, TakeFeatures) {
  for (const Kernel* kernel : mma_kernels()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      AttentionProblem p =
          drawn(*kernel, seed, {{"sq", "21"}, {"sk", "90"}, {"hq", "2"}, {"hk", "1"}, {"scale", "0.3"}});
      if (seed % 2 == 1) p.window_left = 20;
      if (seed % 3 == 1) p.window_right = 3;
      if (seed % 4 >= 2) {
        p.alibi = Tensor::dense(Format::f32, {p.batch(), p.q_heads()});
        for (std::int64_t i = 0; i < p.alibi.elements(); ++i) p.alibi.set({i / 2, i % 2}, 0.25 / (1.0 + i));
      }
      if (seed % 5 >= 2) {
        p.sink = Tensor::dense(Format::f32, {p.q_heads()});
        p.sink.set({0}, 1.5);
        p.sink.set({1}, seed % 5 == 2 ? -std::numeric_limits<double>::infinity() : -0.75);
      }
      expect_right(*kernel, p);
    }
  }
}

TEST(MmaKernels, TakeChunksLongerThanATileAndAnyGroupOfHeads) {
  for (const Kernel* kernel : mma_kernels()) {
    for (const char* chunk : {"65", "150", "200"}) {
      for (const char* causal : {"0", "1"}) {
        expect_right(*kernel, drawn(*kernel, 3,
                                    {{"sq", "33"}, {"sk", "200"}, {"d", "64"}, {"chunk", chunk}, {"causal", causal}}));
      }
    }
    expect_right(*kernel, drawn(*kernel, 4, {{"sq", "5"}, {"sk", "40"}, {"hq", "7"}, {"hk", "1"}}));
    expect_right(*kernel, drawn(*kernel, 5, {{"sq", "5"}, {"sk", "40"}, {"hq", "14"}, {"hk", "2"}}));
  }
}

TEST(MmaKernels, TakeEveryWidth) {
  for (const Kernel* kernel : mma_kernels()) {
    for (const char* d : {"1", "7", "8", "64", "128", "136", "256"}) {
      for (const char* dv : {"3", "64", "128", "256"}) {
        expect_right(*kernel,
                     drawn(*kernel, 6, {{"sq", "3"}, {"sk", "70"}, {"d", d}, {"dv", dv}, {"layout", "dense"}}));
      }
    }
  }
}

TEST(MmaKernels, RefuseWhatTheyLack) {
  const Kernel& kernel = *find_kernel("attention.mma_f16.hardened");
  AttentionProblem p = drawn(kernel, 1, {{"d", "16"}, {"scale", "1"}});
  p.scale = -1;
  EXPECT_EQ(kernel.unsupported(p), "scale = -1.000000: legal range above 0 (it is folded into the exponent)");
  EXPECT_EQ(kernel.unsupported(drawn(kernel, 1, {{"d", "257"}, {"scale", "1"}})), "d = 257: legal range 1..256");
  EXPECT_EQ(kernel.unsupported(drawn(kernel, 1, {{"dv", "260"}, {"scale", "1"}})), "dv = 260: legal range 1..256");
  p.scale = 1;
  p.softcap = 2;
  EXPECT_NE(kernel.unsupported(p), "");
  EXPECT_THROW(run(kernel, make_case({ProblemKind::attention, "normal", 1, {{"format", "f32"}}}).problem), UsageError);
}

TEST(MmaKernels, DoNotReadATileBeforeItIsThere) {
  for (const Kernel* kernel : mma_kernels()) {
    for (const char* d : {"40", "64"}) {
      const AttentionProblem p =
          drawn(*kernel, 8, {{"sq", "70"}, {"sk", "300"}, {"d", d}, {"dv", d}, {"chunk", "64"}, {"layout", "dense"}});
      const Output eager = run(*kernel, p);
      for (const char* schedule : {"lifo", "random:5", "fifo+lazy", "lifo+lazy", "random:9+lazy"}) {
        EXPECT_TRUE(same_bits(eager, run(*kernel, p, {.schedule = simt::parse_schedule(schedule)})))
            << kernel->id << " " << schedule;
      }
    }
  }
}

TEST(MmaKernels, AreWithinTheBoundOfTheUnitTheyRanOn) {
  int different = 0;
  for (const Kernel* kernel : mma_kernels()) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const AttentionProblem p = drawn(*kernel, seed, {{"sq", "17"}, {"sk", "100"}, {"scale", "0.5"}});
      expect_right(*kernel, p, {.matrix_unit = kAmpereF16});
      different += same_bits(run(*kernel, p), run(*kernel, p, {.matrix_unit = kAmpereF16})) ? 0 : 1;
    }
    EXPECT_EQ(on_unit(*kernel, kAmpereF16).arithmetic.dot.unit, kAmpereF16);
    EXPECT_EQ(on_unit(*kernel, kAmpereF16).arithmetic.values.unit, kAmpereF16);
  }
  EXPECT_GT(different, 6);  // else the option does nothing
  EXPECT_EQ(on_unit(*find_kernel("attention.deferred.hardened"), kAmpereF16).arithmetic.dot.unit, BlockFma{});
}

/// A NaN in v of a key that some rows see and others do not; the softmax weights of the others do not move.
TEST(MmaKernels, IsolateHiddenKeysInsideATile) {
  for (const Kernel* kernel : mma_kernels()) {
    AttentionProblem p = drawn(*kernel, 9,
                               {{"sq", "40"},
                                {"sk", "40"},
                                {"b", "1"},
                                {"hq", "1"},
                                {"causal", "1"},
                                {"d", "16"},
                                {"dv", "24"},
                                {"chunk", "64"},
                                {"scale", "0.5"}});
    p.key_length.clear();
    p.bias = {};
    const Output clean = run(*kernel, p);
    for (std::int64_t c = 0; c < 24; ++c) p.v.set({0, 0, 25, c}, std::numeric_limits<double>::quiet_NaN());
    p.k.set({0, 0, 31, 3}, std::numeric_limits<double>::infinity());
    const Output poisoned = run(*kernel, p);
    for (std::int64_t row = 0; row < 25; ++row) {
      for (std::int64_t c = 0; c < 24; ++c) ASSERT_EQ(clean.o.bits(row * 24 + c), poisoned.o.bits(row * 24 + c)) << row;
      EXPECT_EQ(clean.lse.bits(row), poisoned.lse.bits(row));
    }
    EXPECT_EQ(poisoned.o.bits(25 * 24), nan_bits(p.v.format));
    expect_right(*kernel, p);
  }
}

}  // namespace
}  // namespace flashproof
