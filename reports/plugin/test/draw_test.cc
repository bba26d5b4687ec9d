// Whatever a description takes, a check of one case per family has cases that test it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/plugin/test/drawn.h"

namespace flashproof {
namespace {

void expect_drawn(const Taken& taken) {
  const Described described = described_as(taken);
  const Kernel kernel = kernel_of(described);
  KernelRun run(kernel, {}, described.declared);
  EXPECT_EQ(run.wants_more(), !described.declared.empty());
  std::vector<PluginTask> tasks;
  for (const Family& family : families()) {
    if (family.serves(kernel.problem)) tasks.push_back({&kernel, draw_cases(run, family, 0, 1, {}, described)});
  }
  draw_declared(run, described, 0, tasks);
  EXPECT_FALSE(run.wants_more()) << taken.takes << taken.more;
  for (const PluginTask& task : tasks) {
    for (const CaseSpec& spec : task.cases) {
      EXPECT_EQ(to_string(parse_case_spec(to_string(spec))), to_string(spec));
      EXPECT_EQ(spec.family, task.cases.front().family);
    }
  }
}

// Threads make them, and may end in any order.
TEST(Draw, is_the_same_by_any_number_of_threads) {
  const Described described = described_as({ProblemKind::softmax, R"("row_length")", ""});
  const Kernel kernel = kernel_of(described);
  KernelRun one_by_one(kernel, {}, described.declared), together(kernel, {}, described.declared);
  for (const Family& family : families()) {
    if (!family.serves(kernel.problem)) continue;
    const auto expected = draw_cases(one_by_one, family, 0, kDefaultCases, {}, described);
    const auto drawn = draw_cases(together, family, 0, kDefaultCases, {}, described, 3);
    ASSERT_EQ(drawn.size(), expected.size()) << family.name;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      EXPECT_EQ(to_string(drawn[i]), to_string(expected[i]));
      EXPECT_EQ(together.work(drawn[i]), one_by_one.work(expected[i])) << to_string(drawn[i]);
    }
  }
}

// Of a covering array a part leaves out most pairs of levels: the default draws all of it that the kernel takes.
TEST(Draw, a_default_check_has_the_covering_arrays_whole) {
  for (const Family& family : families()) {
    if (family.round == nullptr) continue;
    for (const ProblemKind problem : kProblemKinds) {
      if (!family.serves(problem)) continue;
      const auto [whole, rows, costly] = covering_cases(family, problem, PluginCheck{}.cases);
      EXPECT_EQ(rows, family.round(problem)) << family.name;
      EXPECT_EQ(whole, rows) << family.name;
      EXPECT_EQ(costly, family.costly != nullptr ? family.costly(problem) : 0) << family.name;
      EXPECT_LT(covering_cases(family, problem, 1).drawn, rows) << family.name;
      static constexpr Format kFormats[] = {Format::f32};
      Kernel kernel;
      kernel.problem = problem;
      kernel.formats = kFormats;
      KernelRun run(kernel, {});
      Described any;  // of everything, as it is stored
      any.problem = problem;
      std::vector<std::uint64_t> taken, drawn;
      for (std::uint64_t i = 0; i < rows + costly; ++i) {
        const std::uint64_t seed = i < rows ? i : kCostlySeeds + i - rows;
        const Case row = make_case({problem, std::string(family.name), seed, {{"format", "f32"}}});
        if (kernel.unsupported(row.problem).empty()) taken.push_back(seed);
      }
      for (const CaseSpec& spec : draw_cases(run, family, 0, PluginCheck{}.cases, {}, any)) drawn.push_back(spec.seed);
      EXPECT_FALSE(taken.empty()) << family.name;
      EXPECT_EQ(drawn, taken) << family.name;
      // Three formats of one kernel take all of it together, each row once where the family is drawn in turn.
      std::vector<std::uint64_t> of_all;
      for (std::uint64_t format = 0; format < 3; ++format) {
        for (const CaseSpec& spec : draw_cases(run, family, 0, PluginCheck{}.cases, {format, 3}, any))
          of_all.push_back(spec.seed);
      }
      std::ranges::sort(of_all);
      const auto has_turn = [&](std::uint64_t format) {
        return std::ranges::any_of(taken, [&](std::uint64_t seed) { return seed % 3 == format; });
      };
      if (family.in_turn && has_turn(0) && has_turn(1) && has_turn(2)) {
        EXPECT_EQ(of_all.size(), taken.size()) << family.name;
      }
      of_all.erase(std::unique(of_all.begin(), of_all.end()), of_all.end());
      EXPECT_EQ(of_all, taken) << family.name;
    }
  }
}

TEST(Draw, every_feature_of_attention_by_itself_and_with_narrow_limits) {
  for (const char* word : {"causal", "key_length", "bias", "gqa", "window", "softcap", "alibi", "sink", "packed",
                           "paged\", \"key_length", "descale", "mixed\", \"descale"}) {
    const std::string takes = std::string("\"") + word + "\"";
    expect_drawn({ProblemKind::attention, takes, R"(, "limits": {"d": [64, 128, 64], "dv": "d"})"});
  }
  // A kernel of few features refuses most cases in which sequences share pages.
  expect_drawn({ProblemKind::attention, R"("paged", "key_length", "causal", "gqa")", ""});
  expect_drawn({ProblemKind::attention, "", R"(, "strides": "rows", "limits": {"d": [64, 64]})"});
  expect_drawn({ProblemKind::attention, "", R"(, "strides": "any")"});
}

TEST(Draw, every_feature_of_a_merge_and_a_softmax) {
  for (const char* takes : {R"("concat")", R"("order")", R"("unnormalised")", R"("joins")"}) {
    expect_drawn({ProblemKind::merge, takes, R"(, "limits": {"dv": [64, 128, 64]})"});
  }
  expect_drawn(
      {ProblemKind::softmax, R"("row_length")", R"(, "strides": "any", "limits": {"cols": [128, 4096, 128]})"});
}

/// Of a description's run over these families: the cases that are taken.
std::vector<Problem> problems_taken(const Taken& taken, std::span<const std::string_view> names) {
  const Described described = described_as(taken);
  const Kernel kernel = kernel_of(described);
  KernelRun run(kernel, {}, described.declared);
  std::vector<Problem> problems;
  for (const std::string_view name : names) {
    const auto specs = draw_cases(run, *find_family(name), 0, PluginCheck{}.cases, {}, described);
    if (!run.asks(name)) continue;  // none: the first of all
    for (const CaseSpec& spec : specs) problems.push_back(make_case(parse_case_spec(to_string(spec))).problem);
  }
  for (const Problem& problem : problems) EXPECT_EQ(kernel.unsupported(problem), "");
  return problems;
}

/// Of problems of attention.
bool some(const std::vector<Problem>& problems, const std::function<bool(const AttentionProblem&)>& holds) {
  return std::ranges::any_of(problems,
                             [&](const Problem& problem) { return holds(std::get<AttentionProblem>(problem)); });
}

bool second_tiles(const AttentionProblem& p) { return p.q_length() > 128 && p.k_length() > 256; }

// Half of the rows hold their scores in a bias, and each feature stood in one tile of queries: wrong kernels were right there.
TEST(Draw, a_kernel_without_bias_has_the_sizes_and_the_features) {
  constexpr std::string_view kRows[] = {"model_sizes", "feature_pairs", "pairs", "sizes"};
  const auto of = [&](const char* takes) { return problems_taken({ProblemKind::attention, takes, ""}, kRows); };
  const std::vector<Problem> grouped = of(R"("gqa", "causal")");
  EXPECT_TRUE(some(grouped,
                   [](const AttentionProblem& p) { return p.causal && p.q_heads() > p.k_heads() && second_tiles(p); }));
  EXPECT_TRUE(some(grouped, [](const AttentionProblem& p) { return p.k_length() > 8192 && p.k_length() < 9000; }));
  EXPECT_TRUE(some(grouped, [](const AttentionProblem& p) { return p.k_length() > 32'768; }));
  EXPECT_TRUE(some(grouped, [](const AttentionProblem& p) {
    return p.causal && p.q_length() > 128 && (p.k_length() - p.q_length()) % 128 == 1;
  }));
  EXPECT_FALSE(some(grouped, &AttentionProblem::has_bias));
  EXPECT_TRUE(some(of(R"("causal", "alibi")"),
                   [](const AttentionProblem& p) { return p.has_alibi() && p.causal && second_tiles(p); }));
  EXPECT_TRUE(some(of(R"("softcap")"), [](const AttentionProblem& p) { return p.softcap != 0 && second_tiles(p); }));
  EXPECT_TRUE(some(of(R"("causal", "window")"),
                   [](const AttentionProblem& p) { return p.window_left > 0 && p.causal && second_tiles(p); }));
  EXPECT_TRUE(some(of(R"("causal", "gqa", "sink")"),
                   [](const AttentionProblem& p) { return p.has_sink() && second_tiles(p); }));
  EXPECT_TRUE(some(of(R"("causal", "gqa", "key_length")"),
                   [](const AttentionProblem& p) { return !p.key_length.empty() && p.causal && second_tiles(p); }));
  EXPECT_TRUE(some(of(R"("causal", "gqa", "packed")"), [](const AttentionProblem& p) {
    for (std::int64_t s = 0; p.packed() && p.causal && s < p.sequences(); ++s) {
      if (p.q_length(s) > 64 && p.k_length(s) > 128) return true;
    }
    return false;
  }));
}

// Sizes brought within limits stood for one tile and one head.
TEST(Draw, a_kernel_of_whole_tiles_has_several_of_them_and_heads) {
  constexpr std::string_view kRows[] = {"model_sizes"};
  const char* limits =
      R"(, "limits": {"d": [64, 64], "dv": [64, 64], "q_length": [128, 4096, 128], "k_length": [128, 4096, 128]})";
  for (const char* takes : {"", R"("causal", "gqa")"}) {
    const std::vector<Problem> drawn = problems_taken({ProblemKind::attention, takes, limits}, kRows);
    EXPECT_TRUE(some(drawn, [](const AttentionProblem& p) { return p.q_length() > 128 && p.k_length() > 256; }))
        << takes;
    EXPECT_TRUE(some(drawn, [](const AttentionProblem& p) { return p.q_heads() > 1 && p.q_length() > 128; })) << takes;
  }
}

// Behind the first tile of keys a factor is often applied by other code.
TEST(Draw, descale_factors_reach_beyond_a_tile) {
  for (const std::string_view family : {"descale", "mixed_fp8"}) {
    const std::string_view names[] = {family};
    const std::vector<Problem> drawn =
        problems_taken({ProblemKind::attention, R"("causal", "gqa", "descale", "mixed")", ""}, names);
    for (const std::int64_t dim : {64, 128}) {
      for (const bool decodes : {false, true}) {
        EXPECT_TRUE(some(drawn,
                         [&](const AttentionProblem& p) {
                           return p.head_dim() == dim && p.k_length() > 256 && (p.q_length() == 1) == decodes &&
                                  p.sequences() == 2 && !p.q_descale.shape.empty() && !p.k_descale.shape.empty() &&
                                  !p.v_descale.shape.empty();
                         }))
            << family << " " << dim << decodes;
      }
    }
  }
}

// A kernel that takes thousands of columns a step, or hundreds of keys, is in its first step in the usual rows.
TEST(Draw, families_of_numbers_have_long_rows) {
  for (const std::string_view family : {"huge", "staircase", "descending", "underflow_beside_huge", "near_ties",
                                        "logit_spread", "duplicate_maxima", "mask_random"}) {
    const std::string_view names[] = {family};
    for (const char* strides : {"", R"(, "strides": "rows")", R"(, "strides": "any")"}) {
      std::int64_t most = 0, longest = 0;
      for (const Problem& problem : problems_taken({ProblemKind::softmax, "", strides}, names)) {
        const std::int64_t columns = std::get<SoftmaxProblem>(problem).x.shape[1];
        most = std::max(most, columns);
        longest += columns > 8192 ? 1 : 0;
      }
      EXPECT_EQ(most, 20'000) << family << strides;
      EXPECT_EQ(longest, 2) << family << strides;
    }
    if (family == "mask_random") continue;  // of attention a bias
    EXPECT_TRUE(some(problems_taken({ProblemKind::attention, R"("causal", "bias", "gqa", "key_length")", ""}, names),
                     [](const AttentionProblem& p) { return p.k_length() == 600; }))
        << family;
  }
}

// Of a kernel of whole tiles no family draws a case: its sizes are brought within the limits, whatever the family has otherwise.
TEST(Draw, a_kernel_of_whole_tiles_has_most_families) {
  const Taken tiles{
      ProblemKind::attention, R"("causal", "gqa")",
      R"(, "limits": {"q_length": [64, 4096, 64], "k_length": [64, 4096, 64], "d": [64, 128, 64], "dv": "d"})"};
  constexpr std::string_view kFamilies[] = {"normal", "logit_spread", "mask_random", "tile_edges", "gqa", "pairs"};
  const std::vector<Problem> problems = problems_taken(tiles, kFamilies);
  EXPECT_GE(problems.size(), 25U);
  std::set<std::vector<std::int64_t>> sizes;
  for (const Problem& problem : problems) {
    const auto& p = std::get<AttentionProblem>(problem);
    sizes.insert({p.q_heads(), p.q_length(), p.k_length(), p.head_dim(), p.causal ? 1 : 0});
  }
  EXPECT_GE(sizes.size(), 8U);
}

TEST(Draw, one_size_alone_is_drawn_beside_others_that_it_can_be_judged_with) {
  for (const auto& [problem, limits] :
       {std::pair{ProblemKind::softmax, R"(, "limits": {"rows": [65535, 65535]})"},
        std::pair{ProblemKind::softmax, R"(, "limits": {"cols": [65536, 65536]})"},
        std::pair{ProblemKind::merge, R"(, "limits": {"states": [2, 2], "dv": [512, 512]})"},
        std::pair{ProblemKind::attention,
                  R"(, "limits": {"q_length": [1, 1], "q_heads": [32, 32], "k_heads": [8, 8]})"},
        std::pair{ProblemKind::backward, R"(, "limits": {"q_length": [128, 128], "d": [64, 64], "dv": "d"})"}}) {
    const std::string gqa = forward_kind(problem) == ProblemKind::attention ? R"("gqa", "causal")" : "";
    constexpr std::string_view kFamilies[] = {"normal", "overflow_edge", "equal",
                                              "deep_negative"};  // without long rows
    EXPECT_EQ(problems_taken({problem, gqa, limits}, kFamilies).size(), 16U) << name(problem) << limits;
  }
}

}  // namespace
}  // namespace flashproof
