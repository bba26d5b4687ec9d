// Kernels that compute another function, through the whole diagnosis.
#include "reports/diagnose/cause/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>

#include "properties/generators/family.h"
#include "reference/bound/declare/named_presets.h"
#include "reports/diagnose/cause/cause_entries.h"
#include "reports/diagnose/diagnosed_kernel.h"
#include "reports/diagnose/finite_copy.h"
#include "reports/diagnose/test/told_as.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view kLike = "attention.deferred.hardened";

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

TEST(Cause, a_sum_in_16_bits_is_no_inaccurate_exponential) {
  const Kernel coarse = kernel_that("softmax.online_two_pass.hardened",
                                    [](const Problem& problem, const RunOptions&) { return summed_in_f16(problem); });
  const std::vector<Cause> causes = diagnose(coarse, softmax_cases(), {}, Executor::cpu);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].id, "arithmetic.sum_16_bits") << causes[0].sentence;
  for (const Cause& cause : causes) EXPECT_NE(cause.id, "arithmetic.exp_error");
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
  EXPECT_THAT(told[0].extent,
              HasSubstr("explains 11 of 12 failing cases that were looked at, leaves elements of 1: numbers"));
  EXPECT_THAT(cause_entries({rest}, kernel).at(0).sentence, HasSubstr("no cause is certain: numbers"));
}

TEST(Cause, what_a_foreign_kernel_may_declare_is_named) {
  const Cause causes[] = {
      {.id = "lse.base_2", .sentence = "lse is the logarithm to base 2", .cases = 1, .confident = true},
      {.id = "scale.twice", .sentence = "scores are scaled twice", .cases = 1, .confident = true}};
  DiagnosedKernel kernel{"attention.mine", "2 laws", [](const std::string& line) { return line; }};
  const auto sentences = [&] {
    std::vector<std::string> list;
    for (const CauseEntry& entry : cause_entries({causes[0], causes[1]}, kernel)) list.push_back(entry.sentence);
    return list;
  };
  EXPECT_THAT(sentences(), ElementsAre(EndsWith("base 2"), EndsWith("twice")));
  kernel.is_foreign = true;
  EXPECT_THAT(sentences(),
              ElementsAre(EndsWith("base 2; if it is meant, declare semantics lse_base = \"2\""), EndsWith("twice")));
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
