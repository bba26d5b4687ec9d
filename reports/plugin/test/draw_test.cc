// Whatever a description takes, a check of one case per family has cases that test it.
#include "reports/plugin/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plugin.h"
#include "kernels/plugin/description.h"

namespace flashproof {
namespace {

/// A description of one feature, with sizes that few families draw.
struct Taken {
  ProblemKind problem;
  std::string takes, more;
};

Described described_as(const Taken& taken) {
  return describe({std::string(name(taken.problem)) + ".row.mine", static_cast<int>(taken.problem), FLASHPROOF_CPU,
                   R"({"formats": ["f16"], "takes": [)" + taken.takes + "]" + taken.more + "}"});
}

Kernel kernel_of(const Described& described) {
  Kernel kernel;
  kernel.id = described.id;
  kernel.problem = described.problem;
  kernel.formats = described.formats;
  kernel.contract = described.contract;
  if (!described.arithmetic.empty()) kernel.arithmetic = described.arithmetic.front();  // a gradient has its own
  kernel.unsupported = described.refusal;
  return kernel;
}

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
