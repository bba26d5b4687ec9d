#include "kernels/plugin/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <vector>

#include "kernels/plugin/arena.h"
#include "kernels/plugin/load.h"
#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

const std::filesystem::path kFolder = FLASHPROOF_TEST_PLUGINS;

SoftmaxProblem problem(std::int64_t rows = 2, std::int64_t cols = 3) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {rows, cols});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) p.x.set({r, c}, static_cast<double>(r + c));
  }
  p.plan = ChunkPlan::uniform(cols, cols);
  return p;
}

const Kernel& kernel(const Plugin& plugin, const std::string& name) {
  return *std::ranges::find(plugin.kernels(), "softmax." + name + ".test", &Kernel::id);
}

class Calls : public testing::TestWithParam<bool> {
 protected:
  Plugin plugin{kFolder / (GetParam() ? "faulty_device.so" : "faulty.so")};
  RunOptions options{.executor = GetParam() ? Executor::cuda : Executor::cpu};

  Output run_one(const std::string& name, const SoftmaxProblem& p = problem()) const {
    return run(kernel(plugin, name), p, options);
  }
  std::string fault(const std::string& name) const {
    return message_of<KernelFault>([&] { run_one(name); });
  }
};

// A kernel that is right only where it finds the bytes of a judge around its tensors would be right whenever it is judged.
TEST(Zones, differ_from_call_to_call_and_show_a_write) {
  Arena arena;
  std::vector<Region> regions = {{"x", Role::output, nullptr, 64}};
  std::set<std::vector<std::byte>> seen;
  for (int call = 0; call < 8; ++call) {
    arena.place(regions, std::byte{0});
    const std::byte* const begin = arena.address(regions[0]);
    seen.emplace(begin - 8, begin);
    seen.emplace(begin + 64, begin + 72);
    arena.copy();
    EXPECT_EQ(arena.damage(regions), "");
  }
  EXPECT_EQ(seen.size(), 16);
  std::byte* const begin = arena.address(regions[0]);
  begin[-1] ^= std::byte{1};
  arena.copy();
  EXPECT_EQ(arena.damage(regions), "wrote before the first element of x");
  begin[-1] ^= std::byte{1};
  begin[64] ^= std::byte{1};
  arena.copy();
  EXPECT_EQ(arena.damage(regions), "wrote beyond the last element of x");
}

TEST_P(Calls, a_right_kernel_returns_its_numbers) {
  const Output output = run_one("right");
  EXPECT_NEAR(output.o.at({0, 2}), 0.66524096, 1e-6);
  EXPECT_NEAR(output.lse.at({1}), 3.40760596, 1e-6);
  const Output none = run_one("right", problem(0, 3));
  EXPECT_EQ(none.o.elements(), 0);
  SoftmaxProblem lengths = problem(2, 3);
  lengths.row_length = {0, 2};
  EXPECT_EQ(run_one("right", lengths).lse.at({0}), -INFINITY);
  SoftmaxProblem spread = problem(2, 3);  // the strides of x reach the kernel
  spread.x = Tensor::strided(Format::f32, {2, 3}, {1, 4});
  for (std::int64_t c = 0; c < 3; ++c)
    spread.x.set({0, c}, static_cast<double>(c)), spread.x.set({1, c}, 1.0 + static_cast<double>(c));
  EXPECT_EQ(run_one("right", spread).o, output.o);
}

TEST_P(Calls, what_a_kernel_writes_where_it_must_not_is_named) {
  EXPECT_EQ(fault("right"), "(nothing was thrown)");
  EXPECT_EQ(fault("before"), "the kernel wrote before the first element of o");
  EXPECT_EQ(fault("after"), "the kernel wrote beyond the last element of o");
  EXPECT_EQ(fault("after_lse"), "the kernel wrote beyond the last element of lse");
  EXPECT_EQ(fault("input"), "the kernel wrote to its input x");
  EXPECT_EQ(fault("beside_input"), "the kernel wrote before the first element of x");
  EXPECT_EQ(fault("beside_workspace"), "the kernel wrote beyond the last element of the workspace");
}

TEST(Zones, reach_to_the_end_of_the_last_page) {
  Arena arena;
  std::vector<Region> regions = {{"x", Role::output, nullptr, 64}};
  arena.place(regions, std::byte{0});
  EXPECT_EQ(arena.used() % 4096, 0U);
  EXPECT_GE(arena.used(), regions[0].offset + 64 + 4096);
  arena.block()[arena.used() - 1] ^= std::byte{1};
  arena.copy();
  EXPECT_EQ(arena.damage(regions), "wrote beyond the last element of x");
}

// What an earlier call used is out of reach: of a call that returns, and of one whose workspace_bytes() was asked in between.
TEST_P(Calls, a_write_far_behind_the_last_array_is_seen_after_a_large_call) {
  EXPECT_THAT(fault("far"), HasSubstr("was killed by signal 11"));
  run_one("large_workspace");
  EXPECT_THAT(fault("far"), HasSubstr("was killed by signal 11"));
}

/// MiB that this process has in memory, of its own and shared.
std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, pages = 0;
  file >> all >> pages;
  return pages * 4096 >> 20;
}

TEST_P(Calls, a_large_workspace_costs_what_the_kernel_touches_of_it) {
  const Output expected = run_one("right");
  const std::uint64_t before = resident();
  for (int call = 0; call < 30; ++call) EXPECT_EQ(run_one("large_workspace").o, expected.o);
  EXPECT_LT(resident() - before, 200U) << "MiB";
  EXPECT_EQ(fault("beside_large_workspace"), "the kernel wrote beyond the last element of the workspace");
  EXPECT_NE(run_one("from_large_workspace").o, expected.o) << "was not filled";
  options.workspace_fill = std::byte{0};
  EXPECT_EQ(run_one("from_large_workspace").o, expected.o);
}

TEST_P(Calls, an_array_of_a_large_workspace_that_one_call_misses_is_filled_by_another) {
  options.workspace_fill = std::byte{0};
  const Output expected = run_one("from_part_of_large_workspace");
  options.workspace_fill = std::byte{0xff};
  int seen = 0;
  for (int call = 0; call < 12; ++call) seen += run_one("from_part_of_large_workspace").o == expected.o ? 0 : 1;
  EXPECT_GE(seen, 1);
  EXPECT_LT(seen, 12) << "it has no part that is always filled";
}

TEST_P(Calls, more_than_any_workspace_is_refused_with_the_legal_range) {
  EXPECT_EQ(fault("absurd_workspace"), "workspace_bytes() returned 4294967297, legal 0..4294967296");
}

constexpr std::size_t kLarge[] = {(std::size_t{1} << 23) + 1, std::size_t{1} << 27, (std::size_t{1} << 32) - 5};

TEST(Workspace, parts_that_are_filled_cover_small_ones_and_sample_large_ones) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 20, std::size_t{1} << 23}) {
    const std::vector<ByteRange> parts = filled_parts(1000, bytes, 7);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].begin, 1000U);
    EXPECT_EQ(parts[0].end, 1000 + bytes);
  }
  for (const std::size_t bytes : kLarge) {
    for (const std::size_t phase : {0, 1, 1000, 4095}) {
      const std::vector<ByteRange> parts = filled_parts(1000, bytes, phase);
      EXPECT_EQ(parts.front().begin, 1000U);
      EXPECT_EQ(parts.back().end, 1000 + bytes);
      std::size_t sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        ASSERT_LT(parts[i].begin, parts[i].end);
        if (i > 0) {
          ASSERT_LE(parts[i - 1].end, parts[i].begin);
          ASSERT_LE(parts[i].begin - parts[i - 1].end, std::size_t{1} << 21) << "a gap that an array could lie in";
        }
        sum += parts[i].end - parts[i].begin;
      }
      EXPECT_LE(sum, std::size_t{26} << 20);
    }
  }
}

TEST(Workspace, parts_of_all_phases_cover_all_of_a_large_one_and_few_in_a_row_spread_over_it) {
  for (const std::size_t bytes : kLarge) {
    std::vector<bool> filled(bytes / 4096 + 2);
    for (std::size_t phase = 0; phase < 4096; phase += 8) {  // a step has 256 pages at most
      for (const auto& [begin, end] : filled_parts(4096, bytes, phase)) {
        std::fill(filled.begin() + static_cast<std::ptrdiff_t>(begin / 4096),
                  filled.begin() + static_cast<std::ptrdiff_t>(end / 4096), true);
      }
    }
    EXPECT_EQ(std::find(filled.begin() + 1, filled.begin() + static_cast<std::ptrdiff_t>(bytes / 4096), false),
              filled.begin() + static_cast<std::ptrdiff_t>(bytes / 4096));
  }
  Arena arena;
  std::vector<Region> regions = {{"w", Role::workspace, nullptr, std::size_t{1} << 32}};
  std::set<std::size_t> pages;
  for (int call = 0; call < 13; ++call) {
    arena.place(regions, std::byte{1});
    pages.insert(filled_parts(0, std::size_t{1} << 32, arena.phase())[1].begin / 4096);
  }
  ASSERT_EQ(pages.size(), 13U);
  for (auto page = pages.begin(); std::next(page) != pages.end(); ++page) EXPECT_LE(*std::next(page) - *page, 48U);
}

TEST(Workspace, memory_of_a_large_one_is_given_back_with_the_next_call) {
  const auto kept = [](const Arena& arena) {
    struct stat file{};
    EXPECT_EQ(::fstat(arena.file(), &file), 0);
    return static_cast<std::size_t>(file.st_blocks) * 512;
  };
  Arena arena;
  std::vector<Region> small = {{"x", Role::output, nullptr, 64}};
  std::vector<Region> large = {{"w", Role::workspace, nullptr, std::size_t{1} << 26}};
  const std::uint64_t before = resident();
  for (int round = 0; round < 2; ++round) {
    arena.place(large, std::byte{7});
    for (const auto& [begin, end] : filled_parts(large[0].offset, large[0].bytes, arena.phase())) {
      EXPECT_TRUE(
          std::all_of(arena.block() + begin, arena.block() + end, [](std::byte b) { return b == std::byte{7}; }));
    }
    std::fill_n(arena.address(large[0]), large[0].bytes, std::byte{9});
    arena.copy();
    EXPECT_EQ(arena.damage(large), "");
    EXPECT_GE(kept(arena), large[0].bytes);
    arena.place(small, std::byte{7});
    EXPECT_LE(kept(arena), std::size_t{9} << 20);
    EXPECT_LT(resident(), before + 24) << "MiB: 8 of the file, 8 of the copy";
    arena.copy();
    EXPECT_EQ(arena.damage(small), "");
    EXPECT_FALSE(arena.changed());
  }
}

TEST_P(Calls, return_codes) {
  EXPECT_EQ(fault("return_error"), "the kernel returned an error: out of\\x0aluck");
  EXPECT_EQ(fault("long_message"), "the kernel wrote beyond the room for its message");
  EXPECT_THAT(fault("return_17"), HasSubstr("returned 17, legal 0"));
  EXPECT_THAT(fault("negative_workspace"), HasSubstr("workspace_bytes() returned -1"));
  try {
    run_one("refuse");
    ADD_FAILURE() << "not refused";
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(), "cols: not today");
  }
}

TEST_P(Calls, memory_that_is_taken_again_is_poisoned_again) {
  run_one("right", problem(50, 70));
  run_one("right");
  EXPECT_EQ(run_one("unwritten").o.bits(5), poison_bits(Format::f32));
  options.workspace_fill = std::byte{0};
  EXPECT_NE(run_one("from_workspace").o, run_one("right").o);
}

TEST_P(Calls, the_environment_of_a_call_ends_with_it) {
  const unsigned before = __builtin_ia32_stmxcsr() & 0xffc0;
  run_one("flushed");
  run_one("rounding");
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0xffc0, before);
}

TEST_P(Calls, the_wrong_memory_is_refused) {
  options.executor = GetParam() ? Executor::cpu : Executor::cuda;
  EXPECT_THROW(run_one("right"), UsageError);
}

INSTANTIATE_TEST_SUITE_P(Host, Calls, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Device, Calls, testing::Values(true));

/// A library of one kernel that is code of this program.
PluginProcess::Load library_of(std::int32_t (*run)(const flashproof_call*)) {
  static flashproof_kernel kernel{
      sizeof(flashproof_kernel), "", FLASHPROOF_SOFTMAX, FLASHPROOF_CPU, "", nullptr, nullptr, nullptr};
  static const flashproof_kernel* const list[] = {&kernel};
  static const flashproof_plugin plugin{FLASHPROOF_PLUGIN_ABI, 0, sizeof(flashproof_plugin), "", "", 1, list};
  static LoadedPlugin loaded{&plugin, {}};
  return [run]() -> const LoadedPlugin& {
    kernel.run = run;
    std::fegetenv(&loaded.environment);
    return loaded;
  };
}

TEST(Call, what_a_kernel_does_not_return_is_the_rounded_truth) {
  PluginProcess process(library_of([](const flashproof_call* call) -> std::int32_t {
                          if (call->lse != nullptr || call->o == nullptr) return FLASHPROOF_ERROR;
                          for (int i = 0; i < 6; ++i) static_cast<float*>(flashproof_data(call->o))[i] = 0.5F;
                          return FLASHPROOF_OK;
                        }),
                        10);
  Kernel kernel;
  kernel.id = "softmax.row.mine";
  kernel.problem = ProblemKind::softmax;
  kernel.formats = kStorageFormats;
  kernel.contract.returns = Returns::o;
  kernel.foreign = [&](const Problem& p, const RunOptions& options) {
    return call_plugin(process, {0, "", false, false, Returns::o}, p, options);
  };
  const Output output = run(kernel, problem());
  EXPECT_EQ(output.o.at({1, 1}), 0.5);
  EXPECT_NEAR(output.lse.at({1}), 3.40760596, 1e-6);
}

/// Says what it got.
std::int32_t look(const flashproof_call* call) {
  std::string seen;
  if (const flashproof_merge* m = call->merge) {
    seen = "merge " + std::to_string(m->o->ndim) + " order " +
           std::to_string(static_cast<const std::int32_t*>(flashproof_data(m->order))[0]) +
           (m->l == nullptr ? "" : " l") + (m->concat != 0 ? " concat" : "") + " o " +
           std::to_string(call->o->shape[1]);
  } else if (const flashproof_attention* a = call->attention) {
    seen = "attention q " + std::to_string(a->q->dtype.code) + "/" + std::to_string(a->q->dtype.bits) + " k " +
           std::to_string(a->k->strides[1]) + " lse " + std::to_string(call->lse->ndim) +
           (a->bias == nullptr ? "" : " bias") + " length " +
           std::to_string(static_cast<const std::int32_t*>(flashproof_data(a->key_length))[0]) +
           (a->causal != 0 ? " causal " : " ") + std::to_string(a->window_left);
  }
  std::snprintf(call->error, call->error_size, "%s", seen.c_str());
  return FLASHPROOF_ERROR;
}

TEST(Call, a_merge_and_an_attention_arrive_as_they_are) {
  PluginProcess process(library_of(look), 10);
  const auto seen = [&](const Problem& problem) -> std::string {
    return message_of<KernelFault>([&] { call_plugin(process, {0, "", false, false, Returns::both}, problem, {}); });
  };
  MergeProblem merge;
  merge.o = Tensor::dense(Format::bf16, {2, 1, 3});
  merge.lse = Tensor::dense(Format::f32, {2, 1});
  merge.order = {1, 0};
  merge.form = MergeForm::concat;
  EXPECT_EQ(seen(merge), "the kernel returned an error: merge 3 order 1 concat o 6");
  AttentionProblem attention;
  attention.q = Tensor::dense(Format::bf16, {1, 2, 1, 4});
  attention.k = attention.v = Tensor::strided(Format::bf16, {1, 2, 3, 4}, {40, 20, 5, 1});
  attention.key_length = {2};
  attention.causal = true;
  attention.window_left = 7;
  attention.plan = ChunkPlan::uniform(3, 3);
  EXPECT_EQ(seen(attention), "the kernel returned an error: attention q 4/16 k 20 lse 3 length 2 causal 7");
}

/// By how many bytes x, o and lse lie beyond an address that 256 divides.
std::int32_t tell_places(const flashproof_call* call) {
  const auto beyond = [](const flashproof_tensor* t) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(flashproof_data(t)) % 512);
  };
  std::snprintf(call->error, call->error_size, "%u %u %u", beyond(call->softmax->x), beyond(call->o),
                beyond(call->lse));
  return FLASHPROOF_UNSUPPORTED;
}

TEST(Call, tensors_are_aligned_as_promised_and_no_more) {
  PluginProcess process(library_of(tell_places), 10);
  const auto places = [&](std::uint64_t placement, std::size_t alignment) {
    RunOptions options;
    options.placement = placement;
    try {
      call_plugin(process, {0, "", false, false, Returns::both, alignment}, problem(), options);
    } catch (const UsageError& e) {
      unsigned x = 0, o = 0, lse = 0;
      EXPECT_EQ(std::sscanf(e.what(), "%u %u %u", &x, &o, &lse), 3) << e.what();
      return std::array{x, o, lse};
    }
    return std::array{0U, 0U, 0U};
  };
  EXPECT_EQ(places(0, 1), (std::array{256U, 256U, 256U}));
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{16}, std::size_t{256}}) {
    const std::size_t least = std::max<std::size_t>(alignment, 4);
    int all_aligned = 0, all_least = 0;
    for (std::uint64_t placement = 1; placement <= 100; ++placement) {
      const auto drawn = places(placement, alignment);
      EXPECT_EQ(drawn, places(placement, alignment));
      for (const unsigned one : drawn) EXPECT_EQ(one % least, 0U);
      all_aligned += drawn == std::array{256U, 256U, 256U} ? 1 : 0;
      all_least += std::ranges::all_of(drawn, [&](unsigned one) { return one % (2 * least) == least; }) ? 1 : 0;
    }
    EXPECT_GT(all_aligned, 10) << alignment;  // where a kernel has a path of its own
    EXPECT_GT(all_least, 10) << alignment;
  }
}

}  // namespace
}  // namespace flashproof
