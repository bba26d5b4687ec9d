// Kernels that compute another function, through the whole diagnosis.
#include "reports/diagnose/cause/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "properties/generators/family.h"
#include "reference/bound/declare/named_presets.h"
#include "reports/diagnose/cause/cause_entries.h"
#include "reports/diagnose/diagnosed_kernel.h"
#include "reports/diagnose/finite_copy.h"

namespace flashproof {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLike = "attention.deferred.hardened";

std::vector<CaseSpec> specs(std::initializer_list<const char*> lines) {
  std::vector<CaseSpec> list;
  for (const char* line : lines) list.push_back(parse_case_spec(line));
  return list;
}

const std::vector<CaseSpec> kCases =
    specs({"attention:normal:1:format=f32", "attention:normal:2:format=f32", "attention:gqa:1:format=f32",
           "attention:staircase:1:format=f32", "attention:ramp:1:format=f32"});
const std::vector<CaseSpec> kCausal =
    specs({"attention:normal:1:format=f32,sq=7,sk=19,causal=1", "attention:normal:2:format=f32,sq=9,sk=5,causal=1"});

Kernel computing(std::string_view id) {
  const Hypothesis* h = find_hypothesis(ProblemKind::attention, id);
  return kernel_that(kLike, [h](const Problem& problem, const RunOptions&) {
    return output_of(*h, problem, find_kernel(kLike)->arithmetic);
  });
}

bool says(const Cause& cause, std::string_view id) {
  return cause.id == id || std::ranges::find(cause.others, id) != cause.others.end();
}

/// The one certain cause, and nothing of arithmetic beside it.
void expect_told_as(const Kernel& kernel, const std::vector<CaseSpec>& cases, std::string_view id) {
  const std::vector<Cause> causes = diagnose(kernel, cases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, id) << causes[0].sentence;
  EXPECT_TRUE(causes[0].confident);
  EXPECT_EQ(causes[0].cases, causes[0].failing_cases);
  EXPECT_FALSE(causes[0].witness.empty());
  EXPECT_EQ(causes.size(), 1U) << causes.back().sentence;
}

TEST(Cause, names_what_a_kernel_computes_instead) {
  for (const char* id : {"scale.twice", "lse.base_2", "keys.last_missing", "keys.first_twice", "exponent.log2e_missing",
                         "o.undivided"}) {
    const std::vector<Cause> causes = diagnose(computing(id), kCases, {}, Executor::cpu);
    ASSERT_FALSE(causes.empty()) << id;
    EXPECT_TRUE(says(causes[0], id)) << id << " is told as " << causes[0].id;
    EXPECT_TRUE(causes[0].confident) << id;
    EXPECT_EQ(causes[0].cases, causes[0].failing_cases) << id;
  }
}

TEST(Cause, names_exchanged_descales) {
  const std::vector<CaseSpec> cases = specs({"attention:descale:1:format=f16", "attention:descale:2:format=f16",
                                             "attention:descale:3:format=f16", "attention:descale:4:format=f16"});
  for (const char* id : {"descale.k_and_v_exchanged", "descale.q_and_v_exchanged"}) {
    ASSERT_NE(find_hypothesis(ProblemKind::attention, id), nullptr) << id;
    const std::vector<Cause> causes = diagnose(computing(id), cases, {}, Executor::cpu);
    ASSERT_FALSE(causes.empty()) << id;
    EXPECT_TRUE(says(causes[0], id)) << causes[0].sentence;
    EXPECT_TRUE(causes[0].confident);
  }
}

/// Without the state that is stored last, as a loop computes it that ends too early.
Output without_last_stored(const Problem& problem, const Arithmetic& arithmetic) {
  Output output = exact_output(problem);
  for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
    const RowTerms terms = row_terms(problem, arithmetic, row);
    RowWeights weights(terms);
    if (terms.terms.size() < 2) continue;
    weights.drop(terms.terms.size() - 1);
    write_row(output, terms, weights);
  }
  return output;
}

// In the order of merging it is the first in some cases and the last in others.
TEST(Cause, a_state_that_is_stored_last_is_not_the_first_or_the_last_by_turns) {
  const std::string_view like = "merge.pairwise_stable.hardened";
  const Kernel drops = kernel_that(like, [like](const Problem& problem, const RunOptions&) {
    return without_last_stored(problem, find_kernel(like)->arithmetic);
  });
  std::vector<CaseSpec> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    cases.push_back({ProblemKind::merge, "chunk_order", seed, {{"format", "f32"}}});
  expect_told_as(drops, cases, "merge.last_stored_missing");
}

// The first key in some rows of some cases, the last in some rows of others: one of the two is told, the other is what it leaves.
TEST(Cause, what_is_left_is_no_certain_cause_without_a_condition) {
  const Kernel either = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    const Output right = exact_output(problem);
    const std::uint64_t first = attention_of(problem)->q.bits(0);
    const Hypothesis* h =
        find_hypothesis(ProblemKind::attention, first % 2 == 0 ? "keys.first_missing" : "keys.last_missing");
    Output output = output_of(*h, problem, find_kernel(kLike)->arithmetic);
    const std::int64_t width = output_shape(problem).width;
    for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
      if (row * row % 7 < 3) continue;
      output.lse.set_bits(row, right.lse.bits(row));
      for (std::int64_t i = row * width; i < (row + 1) * width; ++i) output.o.set_bits(i, right.o.bits(i));
    }
    return output;
  });
  std::vector<CaseSpec> cases;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    cases.push_back({ProblemKind::attention, "normal", seed, {{"format", "f32"}}});
  const std::vector<Cause> causes = diagnose(either, cases, {}, Executor::cpu);
  ASSERT_GE(causes.size(), 2U);
  EXPECT_THAT(causes[0].condition, HasSubstr("only in some rows"));
  EXPECT_TRUE(causes[0].confident);
  EXPECT_THAT(causes[1].id, HasSubstr("keys."));
  EXPECT_FALSE(causes[1].confident) << causes[1].sentence << causes[1].condition;
}

TEST(Cause, says_where_a_hypothesis_holds) {
  const std::vector<Cause> causes = diagnose(computing("causal.top_left"), kCausal, kCases, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "causal.top_left");
  EXPECT_TRUE(causes[0].condition.empty()) << causes[0].condition;
}

/// As a kernel that declares lse to base 2 returns what `compute` says.
Kernel in_base_2(const std::function<Output(const Problem&)>& compute) {
  Kernel kernel = kernel_that(kLike, [compute](const Problem& problem, const RunOptions&) {
    Output output = compute(problem);
    for (std::int64_t i = 0; i < output.lse.elements(); ++i) {
      const double lse = decode(Format::f32, output.lse.bits(i));
      output.lse.set_bits(i, encode(Format::f32, lse / std::log(2.0)));
    }
    return output;
  });
  kernel.contract.semantics.lse_base = LseBase::two;
  return kernel;
}

TEST(Cause, declared_semantics_are_no_cause_and_hide_none) {
  for (const Cause& cause : diagnose(in_base_2(exact_output), kCases, kCausal, Executor::cpu))
    EXPECT_FALSE(cause.confident) << cause.id;
  const Hypothesis* twice = find_hypothesis(ProblemKind::attention, "scale.twice");
  const auto compute = [&](const Problem& problem) {
    return output_of(*twice, problem, find_kernel(kLike)->arithmetic);
  };
  const std::vector<Cause> causes = diagnose(in_base_2(compute), kCases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "scale.twice");
  EXPECT_TRUE(causes[0].confident);
}

/// A softmax that adds up its weights one after another in f16, and divides in f32.
Output summed_in_f16(const Problem& problem) {
  const auto& p = std::get<SoftmaxProblem>(problem);
  Output output = output_like(problem);
  for (std::int64_t row = 0; row < p.x.shape[0]; ++row) {
    std::vector<double> weights;
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) most = std::max(most, p.x.at({row, c}));
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
      weights.push_back(std::exp(p.x.at({row, c}) - most));
      sum = decode(Format::f16, encode(Format::f16, sum + weights.back()));
    }
    for (std::int64_t c = 0; c < p.x.shape[1]; ++c) {
      const double o = weights[static_cast<std::size_t>(c)] / sum;
      output.o.set_bits(row * p.x.shape[1] + c, encode(Format::f32, o));
    }
    output.lse.set_bits(row, encode(Format::f32, most + std::log(sum)));
  }
  return output;
}

std::vector<CaseSpec> softmax_cases() {
  std::vector<CaseSpec> cases;
  for (const char* family : {"normal", "sizes", "logit_spread", "ramp"}) {
    for (const char* seed : {"1", "2", "3", "4"})
      cases.push_back(parse_case_spec(std::string("softmax:") + family + ":" + seed + ":format=f32"));
  }
  return cases;
}

TEST(Cause, a_sum_in_16_bits_is_no_inaccurate_exponential) {
  const Kernel coarse = kernel_that("softmax.online_two_pass.hardened",
                                    [](const Problem& problem, const RunOptions&) { return summed_in_f16(problem); });
  const std::vector<Cause> causes = diagnose(coarse, softmax_cases(), {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "arithmetic.sum_16_bits") << causes[0].sentence;
  for (const Cause& cause : causes) EXPECT_NE(cause.id, "arithmetic.exp_error");
}

// What a call leaves behind for the next is no arithmetic that a declaration may name.
TEST(Cause, a_difference_between_calls_is_no_arithmetic) {
  using Errs = std::function<bool(const SoftmaxProblem&)>;
  const auto calls = std::make_shared<int>(0);
  const auto known = std::make_shared<std::set<std::vector<std::byte>>>();
  const Errs in_every_second = [calls](const SoftmaxProblem&) { return ++*calls % 2 == 0; };
  const Errs in_every_fifth = [calls](const SoftmaxProblem&) { return ++*calls % 5 == 0; };
  const Errs on_new_numbers = [known](const SoftmaxProblem& p) { return known->insert(p.x.storage).second; };
  for (const Errs& errs : {in_every_second, in_every_fifth, on_new_numbers}) {
    Kernel moody = kernel_that("softmax.online_two_pass.hardened", [errs](const Problem& problem, const RunOptions&) {
      return errs(std::get<SoftmaxProblem>(problem)) ? summed_in_f16(problem) : exact_output(problem);
    });
    moody.contract.deterministic = false;  // else a law tells of it
    expect_told_as(moody, softmax_cases(), "calls.right");
  }
}

TEST(Cause, numbers_that_change_from_call_to_call_are_no_arithmetic) {
  const auto calls = std::make_shared<int>(0);
  const Kernel shaky =
      kernel_that("softmax.online_two_pass.hardened", [calls](const Problem& problem, const RunOptions&) {
        Output output = summed_in_f16(problem);
        if (++*calls % 2 == 0) output.o.set_bits(0, output.o.bits(0) + 1);
        return output;
      });
  expect_told_as(shaky, softmax_cases(), "calls.numbers");
}

// The scale of the first call, in all of them: where that is the root of the right one, it looks like a root.
TEST(Cause, a_scale_that_is_kept_from_an_earlier_call_is_no_wrong_scale) {
  const auto kept = std::make_shared<float>(0.0F);
  const Kernel keeps = kernel_that(kLike, [kept](const Problem& problem, const RunOptions& options) {
    Problem other = problem;
    auto& p = std::get<AttentionProblem>(other);
    if (options.new_process || *kept == 0) *kept = p.scale;
    p.scale = *kept;
    return exact_output(other);
  });
  expect_told_as(keeps,
                 specs({"attention:normal:1:format=f32,d=16,dv=16", "attention:normal:2:format=f32,d=256,dv=16",
                        "attention:ramp:1:format=f32,d=256,dv=16", "attention:ramp:2:format=f32,d=256,dv=16"}),
                 "calls.right_alone");
}

TEST(Cause, is_none_for_a_kernel_that_is_right) {
  const Kernel right =
      kernel_that(kLike, [](const Problem& problem, const RunOptions&) { return exact_output(problem); });
  for (const Cause& cause : diagnose(right, kCases, kCausal, Executor::cpu)) EXPECT_FALSE(cause.confident) << cause.id;
}

TEST(Cause, names_nothing_with_confidence_for_noise) {
  const Kernel noisy = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    for (std::int64_t i = 0; i < output.lse.elements(); ++i)
      output.lse.set_bits(i, encode(Format::f32, decode(Format::f32, output.lse.bits(i)) + (i * 7919 % 13 - 6) * 0.01));
    return output;
  });
  for (const Cause& cause : diagnose(noisy, kCases, {}, Executor::cpu))
    EXPECT_FALSE(cause.confident) << cause.id << " " << cause.condition;
}

// Where the bound of a row takes the truth and the hypothesis alike, that neither is hit says nothing.
TEST(Cause, a_row_that_shows_no_hypothesis_refutes_none) {
  const Hypothesis* h = find_hypothesis(ProblemKind::attention, "lse.base_2");
  Kernel base_2 = kernel_that(kLike, [h](const Problem& problem, const RunOptions&) {
    Output output = output_of(*h, problem, find_kernel(kLike)->arithmetic);
    if (difficulty(problem).condition < 1024) return output;
    for (std::int64_t i = 0; i < output.lse.elements(); ++i)  // as far off as cancelling products make it
      output.lse.set_bits(i, encode(Format::f32, decode(Format::f32, output.lse.bits(i)) + 0.01));
    return output;
  });
  base_2.arithmetic = bound::named_preset("unknown", ProblemKind::attention, Format::f32);  // the widest
  const std::vector<Cause> causes =
      diagnose(base_2, kCases, specs({"attention:cancelling_dot:5:format=f32"}), Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "lse.base_2");
  EXPECT_EQ(causes[0].condition, "");
}

TEST(Cause, nan_in_every_row_is_certain) {
  const Kernel all = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    for (std::int64_t i = 0; i < output.o.elements(); ++i) output.o.set_bits(i, encode(output.o.format, std::nan("")));
    return output;
  });
  const std::vector<Cause> causes = diagnose(all, kCases, {}, Executor::cpu);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "nan:everywhere");
  EXPECT_TRUE(causes[0].confident);
}

TEST(Cause, what_a_mistake_leaves_is_no_cause_of_its_own) {
  const Cause certain{.sentence = "scores are scaled twice", .cases = 11, .failing_cases = 12, .confident = true};
  const Cause rest{.sentence = "numbers outside the bound", .cases = 1, .failing_cases = 12};
  const DiagnosedKernel kernel{"attention.mine", "2 laws", [](const std::string& line) { return line; }};
  const std::vector<CauseEntry> told = cause_entries({certain, rest}, kernel);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].extent, HasSubstr("explains 11 of 12 failing cases that were looked at, leaves 1: numbers"));
  EXPECT_THAT(cause_entries({rest}, kernel).at(0).sentence, HasSubstr("no cause is certain: numbers"));
}

TEST(Cause, poison_is_told) {
  const Kernel lazy = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    output.o.set_bits(0, poison_bits(output.o.format));
    return output;
  });
  const std::vector<Cause> causes = diagnose(lazy, kCases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_TRUE(causes[0].id.starts_with("unwritten")) << causes[0].id;
}

/// Is key j of the first sequence seen by a query of the first head?
bool first_head_sees(const AttentionProblem& p, std::int64_t j) {
  for (std::int64_t i = 0; i < p.q_length(0); ++i)
    if (p.position_visible(0, i, j) && !p.hidden_by_bias(0, 0, i, j)) return true;
  return false;
}

/// NaN in every row if k of a key of the first head is not finite that a query sees, or that none sees.
Kernel upset_by_keys(bool seen) {
  return kernel_that(kLike, [seen](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    const AttentionProblem& p = *attention_of(problem);
    for (std::int64_t j = 0; j < p.k_length(0); ++j) {
      if (std::isfinite(decode(p.k.format, p.k.bits(p.k_offset(0, 0, j)))) || first_head_sees(p, j) != seen) continue;
      for (std::int64_t i = 0; i < output.lse.elements(); ++i)
        output.lse.set_bits(i, encode(Format::f32, std::nan("")));
    }
    return output;
  });
}

// A kernel that makes NaN of an infinity in a key that is seen leaks nothing, whatever it does with ordinary numbers.
TEST(Cause, a_leak_is_of_keys_that_do_not_count) {
  std::vector<CaseSpec> cases;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    for (const char* family : {"special_values", "hidden_specials"})
      cases.push_back(
          {ProblemKind::attention, family, seed, {{"format", "f32"}, {"hq", "1"}, {"hk", "1"}, {"b", "1"}}});
  }
  std::string told;
  for (const Cause& cause : diagnose(upset_by_keys(true), cases, {}, Executor::cpu)) {
    EXPECT_FALSE(cause.id.starts_with("leak")) << cause.id;
    told += cause.sentence + "\n";
  }
  EXPECT_THAT(told, HasSubstr("NaN or infinity among the inputs"));
  const std::vector<Cause> causes = diagnose(upset_by_keys(false), cases, {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "leak.keys");
  EXPECT_TRUE(causes[0].confident);
}

TEST(FiniteCopy, of_what_does_not_count_has_the_same_truth) {
  int copies = 0;
  for (const ProblemKind kind : {ProblemKind::attention, ProblemKind::merge}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const Case subject = make_case({kind, "hidden_specials", seed, {}});
      for (const Cleaned cleaned : {Cleaned::values, Cleaned::keys, Cleaned::both}) {
        const auto copy = finite_copy(subject, cleaned);
        if (!copy) continue;
        ++copies;
        const Output given = exact_output(subject.problem), cleaner = exact_output(copy->problem);
        for (const Part part : kForwardParts)
          EXPECT_EQ(given[part], cleaner[part]) << to_string(subject.spec) << " " << name(part);
      }
    }
  }
  EXPECT_GT(copies, 60);
}

// What is not written no hypothesis explains: both are told.
TEST(Cause, poison_is_told_beside_a_wrong_scale) {
  const Kernel lazy = kernel_that(kLike, [](const Problem& problem, const RunOptions&) {
    Output output =
        output_of(*find_hypothesis(ProblemKind::attention, "scale.twice"), problem, find_kernel(kLike)->arithmetic);
    for (std::int64_t i = output.o.elements() / 2; i < output.o.elements(); ++i)
      output.o.set_bits(i, poison_bits(output.o.format));
    return output;
  });
  const std::vector<Cause> causes = diagnose(lazy, kCases, {}, Executor::cpu);
  const auto confident = [&](std::string_view id) {
    return std::ranges::any_of(causes, [&](const Cause& c) { return c.confident && c.id.starts_with(id); });
  };
  EXPECT_TRUE(confident("scale.twice"));
  EXPECT_TRUE(confident("unwritten"));
  EXPECT_EQ(causes.size(), 2U);
}

/// o times a factor that is the same everywhere, or another one in every row.
Kernel stretched(bool by_row) {
  return kernel_that(kLike, [by_row](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    const std::int64_t width = output_shape(problem).width;
    for (std::int64_t i = 0; i < output.o.elements(); ++i) {
      const double factor = by_row ? 1.01 + 0.01 * static_cast<double>(i / width % 4) : 1.03;
      output.o.set_bits(i, encode(output.o.format, factor * decode(output.o.format, output.o.bits(i))));
    }
    return output;
  });
}

// P in e4m3 allows o to be off by more than 3 %, but a rounding goes either way.
TEST(Cause, a_factor_is_no_rounding) {
  for (const bool by_row : {false, true}) {
    for (const Cause& cause : diagnose(stretched(by_row), kCases, {}, Executor::cpu)) {
      EXPECT_FALSE(cause.id.starts_with("arithmetic")) << cause.id;
      EXPECT_FALSE(cause.confident) << cause.id << " " << cause.condition;
    }
  }
}

// Right numbers, but other bits every time: of that only a law tells, and it counts the cases that were given as failing.
TEST(Cause, a_law_counts_failing_cases_alone) {
  const auto runs = std::make_shared<std::uint64_t>(0);
  const Kernel moody = kernel_that(kLike, [runs](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    const std::uint64_t bits = output.lse.bits(0);
    output.lse.set_bits(0, bits ^ (++*runs % 2));
    return output;
  });
  const std::vector<Cause> causes = diagnose(moody, kCases, kCausal, Executor::cpu);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].id, "law.rerun_is_bitwise");
  EXPECT_TRUE(causes[0].confident);
  EXPECT_EQ(causes[0].cases, kCases.size());
  EXPECT_EQ(causes[0].failing_cases, kCases.size());
  EXPECT_TRUE(diagnose(moody, {}, kCausal, Executor::cpu).empty());
}

// One case of many: it is said, but not with confidence.
TEST(Cause, a_law_is_not_sure_of_few_cases) {
  const auto runs = std::make_shared<std::uint64_t>(0);
  const Kernel moody = kernel_that(kLike, [runs](const Problem& problem, const RunOptions&) {
    Output output = exact_output(problem);
    if (attention_of(problem)->k_heads() != attention_of(problem)->q_heads())
      output.lse.set_bits(0, output.lse.bits(0) ^ (++*runs % 2));
    return output;
  });
  const auto cases = specs({"attention:gqa:1:format=f32", "attention:normal:1:format=f32,hq=2,hk=2",
                            "attention:normal:2:format=f32,hq=2,hk=2", "attention:normal:3:format=f32,hq=2,hk=2",
                            "attention:normal:4:format=f32,hq=2,hk=2", "attention:normal:5:format=f32,hq=2,hk=2"});
  const std::vector<Cause> causes = diagnose(moody, cases, {}, Executor::cpu);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].cases, 1U);
  EXPECT_EQ(causes[0].failing_cases, cases.size());
  EXPECT_FALSE(causes[0].confident);
}

/// A kernel that was wrong, and by now cannot run: what failed before has no output when it is looked at, nor has what passed.
TEST(Cause, a_kernel_that_is_stopped_when_it_is_looked_at_is_told_as_such) {
  for (const int runs : {0, 1, 3, 5, 6}) {
    int left = runs;
    const Kernel kernel = kernel_that(kLike, [&left](const Problem& problem, const RunOptions&) {
      if (left-- <= 0) throw KernelFault("no memory is left");
      return output_like(problem);
    });
    const std::vector<Cause> causes = diagnose(kernel, kCases, kCausal, Executor::cpu);
    const auto stopped = std::ranges::find(causes, "error", &Cause::id);
    ASSERT_EQ(stopped != causes.end(), runs < std::ssize(kCases)) << runs;
    if (stopped == causes.end()) continue;
    EXPECT_THAT(stopped->sentence, HasSubstr("no memory is left"));
  }
}

TEST(Cause, a_crash_or_a_hang_is_one_cause) {
  const Kernel aborts = kernel_that(kLike, [](const Problem&, const RunOptions&) -> Output { std::abort(); });
  const std::vector<FailingRuns> questions = {{&aborts, kCases, {}, Executor::cpu}};
  const auto causes = diagnose_apart(questions, 1);
  ASSERT_EQ(causes.size(), 1U);
  ASSERT_EQ(causes[0].size(), 1U);
  EXPECT_EQ(causes[0][0].id, "crash");
  EXPECT_THAT(causes[0][0].sentence, HasSubstr("signal 6"));
}

TEST(Cause, travels_as_a_line) {
  Cause cause;
  cause.id = "lse.base_2", cause.sentence = "lse is\nwrong", cause.condition = "only where so";
  cause.others = {"a", "b"}, cause.other_sentence = "or that", cause.cases = 3, cause.failing_cases = 4;
  cause.elements = 5, cause.witness = "softmax:normal:1", cause.confident = true;
  const std::string line = cause.serialize();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(Cause::deserialize(line).serialize(), line);
}

TEST(Cause, is_the_same_every_time) {
  const auto text = [] {
    std::string lines;
    for (const Cause& cause : diagnose(computing("scale.twice"), kCases, kCausal, Executor::cpu))
      lines += cause.serialize() + "\n";
    return lines;
  };
  EXPECT_EQ(text(), text());
}

}  // namespace
}  // namespace flashproof
