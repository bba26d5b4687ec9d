// Sizes of a check: rows, keys and tiles at which kernels change what they do.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reports/plugin/test/drawn.h"

namespace flashproof {
namespace {

// A row of sizes that happens to be drawn with strides is drawn dense for a kernel that takes no others.
TEST(Draw, a_kernel_of_dense_tensors_has_every_size) {
  for (const auto& [problem, takes] :
       {std::pair{ProblemKind::softmax, R"("row_length")"}, std::pair{ProblemKind::merge, ""},
        std::pair{ProblemKind::attention, R"("gqa", "key_length", "causal")"},
        std::pair{ProblemKind::backward, R"("gqa", "key_length", "causal")"}}) {
    const Described described = described_as({problem, takes, ""});
    const Kernel kernel = kernel_of(described);
    KernelRun run(kernel, {}, described.declared);
    const Family& sizes = *find_family("model_sizes");
    const Family* const only[] = {&sizes};
    const auto tasks = draw_tasks(run, described, only, PluginCheck{}, Turn{});
    ASSERT_EQ(tasks.size(), 1U);
    std::size_t dense = 0;  // of them, those that the kernel takes
    for (std::uint64_t seed = 0; seed < sizes.round(problem); ++seed) {
      Keys keys = storage_taken(described);
      keys["format"] = "f16";
      const Case row = make_case({problem, "model_sizes", seed, keys});
      dense += kernel.unsupported(row.problem).empty() ? 1 : 0;
    }
    EXPECT_GE(dense, 8U) << name(problem);
    EXPECT_GE(tasks.front().cases.size(), dense) << name(problem);
  }
}

/// What a check of a kernel with these limits draws of a family, from the seed on.
std::vector<Case> sizes_drawn(const Taken& taken, std::uint64_t seed, std::string_view family = "model_sizes") {
  const Described described = described_as(taken);
  const Kernel kernel = kernel_of(described);
  KernelRun run(kernel, {}, described.declared);
  const Family* const only[] = {find_family(family)};
  PluginCheck options;
  options.seed = seed;
  std::vector<Case> cases;
  const std::vector<PluginTask> tasks = draw_tasks(run, described, only, options, Turn{});
  for (const CaseSpec& spec : tasks.at(0).cases) cases.push_back(make_case(spec));
  return cases;
}

std::int64_t rows(const Case& one) { return output_shape(one.problem).rows; }

// A count of rows in 16 bits, a grid's second axis: whatever the seed of the check is, and where the kernel holds the width to a tile.
TEST(Draw, a_default_check_has_more_rows_than_16_bits_count) {
  for (const Taken& taken : {Taken{ProblemKind::softmax, "", ""},
                             {ProblemKind::softmax, "", R"(, "limits": {"cols": [64, 4096, 64]})"},
                             {ProblemKind::softmax, "", R"(, "limits": {"cols": [128, 4096, 128]})"},
                             {ProblemKind::merge, "", ""},
                             {ProblemKind::attention, R"("gqa", "causal")", ""},
                             {ProblemKind::attention, R"("causal")", R"(, "limits": {"d": [64, 64], "dv": "d"})"},
                             {ProblemKind::attention, "", R"(, "limits": {"d": [64, 128, 64], "dv": "d"})"},
                             {ProblemKind::attention, "", R"(, "limits": {"d": [128, 128], "dv": "d"})"}}) {
    for (const std::uint64_t seed : {0, 1, 100}) {
      const std::vector<Case> cases = sizes_drawn(taken, seed);
      EXPECT_TRUE(std::ranges::any_of(cases, [](const Case& one) { return rows(one) > kManyRows; }))
          << name(taken.problem) << taken.more << " " << seed;
      // So many pairs of 128 columns, two keys each, are more than kMaxCaseElements.
      if (taken.problem != ProblemKind::attention || taken.more.find("[128, 128]") != std::string::npos) continue;
      EXPECT_TRUE(std::ranges::any_of(cases,
                                      [](const Case& one) {
                                        const auto& p = std::get<AttentionProblem>(one.problem);
                                        return p.batch() * p.k_heads() > kManyRows;
                                      }))
          << taken.takes << taken.more << " " << seed;
    }
  }
}

// No other run draws them: a default report and a nightly one count their seeds from one that the user gives.
TEST(Draw, rows_that_cost_as_much_as_a_round_are_in_no_round) {
  const Family& sizes = *find_family("model_sizes");
  for (const ProblemKind problem : {ProblemKind::softmax, ProblemKind::merge, ProblemKind::attention}) {
    for (std::uint64_t seed = 0; seed < 2 * sizes.round(problem); ++seed) {
      const Case one = make_case({problem, "model_sizes", seed, {}});
      EXPECT_LE(rows(one), kManyRows) << seed;
    }
  }
}

// Faults were found that show only beyond one tile of queries and two of keys at a head dimension of models, or where one query decodes.
TEST(Draw, a_default_check_has_the_tiles_of_models) {
  for (const char* takes : {"", R"("causal")", R"("gqa", "causal")"}) {
    const std::vector<Case> cases = sizes_drawn({ProblemKind::attention, takes, ""}, 0);
    const auto any = [&](const auto& holds) {
      return std::ranges::any_of(cases,
                                 [&](const Case& one) { return holds(std::get<AttentionProblem>(one.problem)); });
    };
    const bool takes_causal = *takes != 0, takes_groups = std::string_view(takes).starts_with(R"("gqa")");
    for (const std::int64_t d : {64, 128, 256}) {
      for (const bool causal : {false, true}) {
        if (causal && !takes_causal) continue;
        EXPECT_TRUE(any([&](const AttentionProblem& p) {
          return p.head_dim() == d && p.causal == causal && p.q_length() > 64 && p.k_length() > 64;
        })) << takes
            << d << " " << causal;
      }
      if (d == 256 || !takes_groups) continue;
      EXPECT_TRUE(any([&](const AttentionProblem& p) {
        return p.head_dim() == d && p.q_length() == 1 && p.k_length() > 512 && p.q_heads() >= 4 * p.k_heads();
      })) << d;
    }
  }
}

// Where a tile's last query, a group's last row, a length or a packed sequence decides what a second tile sees.
TEST(Draw, a_default_check_has_edges_in_the_second_tile) {
  const Taken taken{ProblemKind::attention, R"("gqa", "causal", "key_length", "packed")", ""};
  std::vector<Case> cases = sizes_drawn(taken, 0);
  std::ranges::copy(sizes_drawn(taken, 0, "feature_pairs"), std::back_inserter(cases));
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(cases, [&](const Case& one) {
      const auto& p = std::get<AttentionProblem>(one.problem);
      return p.causal && holds(p);
    });
  };
  // Rows of queries beside one another, a group's heads in turn: the tile ends inside a group, and the last key of its last query
  // begins a tile of keys.
  for (const std::int64_t rows : {64, 128}) {
    EXPECT_TRUE(any([&](const AttentionProblem& p) {
      const std::int64_t group = p.q_heads() / p.k_heads(), shift = p.k_length() - p.q_length();
      if (p.packed() || !p.key_length.empty() || group < 3) return false;
      bool found = false;
      for (std::int64_t end = rows; end < p.q_length() * group; end += rows) {
        found = found || (end % group != 0 && (end / group + shift) % 128 == 0);
      }
      return found;
    })) << rows;
  }
  EXPECT_TRUE(any([](const AttentionProblem& p) {
    if (p.key_length.empty() || p.packed() || p.q_length() <= 128) return false;
    const std::int64_t length = p.key_length.back();
    return length < p.k_length() && 129 + p.k_length() - p.q_length() < length;
  })) << "a length and a mask in the second tile of queries";
  EXPECT_TRUE(any([](const AttentionProblem& p) {
    for (std::int64_t s = 0; p.packed() && s < p.sequences(); ++s) {
      if (p.q_length(s) > 128 && p.k_length(s) != p.q_length(s) && p.k_length(s) > 0) return true;
    }
    return false;
  })) << "a packed sequence of two tiles, with more or fewer keys than queries";
}

// One head of one batch entry: of what it computes only a tile of queries can be asked alone.
TEST(Draw, a_quick_check_of_whole_tiles_has_two_of_them) {
  const Described described = described_as(
      {ProblemKind::attention, "",
       R"(, "limits": {"batch": [1, 1], "q_heads": [1, 1], "k_heads": [1, 1], "q_length": [64, 4096, 64], "k_length": [64, 65536, 64], "d": [64, 64], "dv": [64, 64]})"});
  const Kernel kernel = kernel_of(described);
  KernelRun run(kernel, {}, described.declared);
  int several = 0;
  for (const Family& family : families()) {
    if (!family.serves(kernel.problem)) continue;
    for (const CaseSpec& spec : draw_cases(run, family, 0, 1, {}, described)) {
      const auto p = std::get<AttentionProblem>(make_case(spec).problem);
      several += described.refusal(Problem(p)).empty() && p.q_length() >= 128 ? 1 : 0;
    }
  }
  EXPECT_GE(several, 5);
}

}  // namespace
}  // namespace flashproof
