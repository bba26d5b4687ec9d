// Every hypothesis that has an output of its own explains that output, and no output that is right.
#include <gtest/gtest.h>

#include <set>

#include "properties/generators/family.h"
#include "reports/diagnose/diagnosed_kernel.h"
#include "reports/diagnose/hypotheses/fit.h"

namespace flashproof {
namespace {

const char* const kAttention[] = {
    "attention:normal:1:format=f32,sq=9,sk=21,d=16,dv=16,hq=4,hk=2,chunk=4,causal=1",
    "attention:gqa:1:format=f32",
    "attention:window:1:format=f32",
    "attention:softcap:1:format=f32",
    "attention:sink:1:format=f32",
    "attention:alibi:1:format=f32",
    "attention:descale:1:format=f32",
    "attention:paged:2:format=f32",
    "attention:packed:1:format=f32",
    "attention:mask_row:1:format=f32",
    "attention:zero_length:1:format=f32",
    "attention:special_values:1:format=f32",
    "attention:staircase:1:format=f32",
};
const char* const kMerge[] = {"merge:normal:1:format=f32", "merge:merge_tree:1:format=f32",
                              "merge:lse_gaps:1:format=f32", "merge:special_values:1:format=f32"};
const char* const kSoftmax[] = {"softmax:normal:1:format=f32", "softmax:staircase:1:format=f32",
                                "softmax:zero_length:1:format=f32", "softmax:special_values:1:format=f32"};

struct Seen {
  std::set<std::string> ids;      // of hypotheses that some case shows
  std::set<std::string> missing;  // of those that showed and were not explained
};

void show(std::string_view like, const char* line, Seen& seen) {
  const Kernel& kernel = *find_kernel(like);
  const Case subject = make_case(parse_case_spec(line));
  if (!kernel.unsupported(subject.problem).empty()) return;
  for (const Hypothesis& h : hypotheses(kernel.problem)) {
    if (h.widens) continue;
    const Observation wrong(kernel, subject, output_of(h, subject.problem, kernel.arithmetic));
    if (!wrong.failed()) continue;  // the hypothesis changes nothing here that a bound would notice
    seen.ids.insert(h.id);
    if (!fit(h, wrong).explains) seen.missing.insert(h.id + " on " + line);
  }
}

TEST(Hypotheses, each_explains_its_own_output) {
  Seen seen;
  for (const char* line : kAttention) show("attention.deferred.hardened", line, seen);
  for (const char* line : kMerge) show("merge.pairwise_stable.hardened", line, seen);
  for (const char* line : kSoftmax) show("softmax.online_chunk.hardened", line, seen);
  EXPECT_TRUE(seen.missing.empty()) << testing::PrintToString(seen.missing);
  EXPECT_GT(seen.ids.size(), 60U);
}

// A kernel that is right up to roundings fails nothing, and so there is nothing to explain. One whose every value is off by a
// little more than its bound is explained by no hypothesis that names another function.
TEST(Hypotheses, none_explains_noise) {
  const Kernel& kernel = *find_kernel("attention.deferred.hardened");
  const Case subject = make_case(parse_case_spec(kAttention[0]));
  const Observation right(kernel, subject, exact_output(subject.problem));
  EXPECT_FALSE(right.failed());
  Output noisy = exact_output(subject.problem);
  for (const Part part : kForwardParts) {
    Tensor& t = noisy[part];
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const double sign = i * 7919 % 13 < 6 ? -1 : 1;
      t.set_bits(i, encode(t.format, decode(t.format, t.bits(i)) + sign * 0x1p-12 * static_cast<double>(1 + i % 5)));
    }
  }
  const Observation off(kernel, subject, noisy);
  EXPECT_TRUE(off.failed());
  for (const Hypothesis& h : hypotheses(ProblemKind::attention)) {
    if (h.widens) continue;
    EXPECT_FALSE(fit(h, off).explains) << h.id;
    EXPECT_FALSE(fit(h, right).explains) << h.id;
  }
}

TEST(Hypotheses, ids_say_one_thing_each) {
  for (const ProblemKind kind : kProblemKinds) {
    std::set<std::pair<std::string, std::string>> seen;
    for (const Hypothesis& h : hypotheses(kind)) {
      EXPECT_FALSE(h.sentence.empty()) << h.id;
      EXPECT_NE(h.sentence.back(), '.') << h.id;
      EXPECT_EQ((h.problem ? 1 : 0) + (h.row ? 1 : 0) + (h.arithmetic ? 1 : 0), 1) << h.id;
    }
  }
}

}  // namespace
}  // namespace flashproof
