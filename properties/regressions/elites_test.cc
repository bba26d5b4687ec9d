// elites.txt: cases on which hardened kernels came nearest to their bounds. None may exceed its bound, or break a judging law,
// after a change of the kernel, of the bound or of the oracle; and each must still mean a case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>

#include "fuzz/score/elite_score.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr double kDigits = 1e-4;

std::vector<std::string> lines() {
  std::vector<std::string> result;
  std::ifstream stream(FLASHPROOF_ELITES);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty() && line.front() != '#') result.push_back(line);
  }
  return result;
}

/// What is wrong with the line now, or nothing. `ratio`: of its term.
std::string complaint(const EliteLine& line, double& ratio) {
  Score found;
  try {
    const std::optional<Score> now = score(line);
    if (!now) return "no such kernel";
    found = *now;
  } catch (const UsageError& error) {
    return std::string("no case any more: ") + error.what();
  }
  if (!found.ran) return "the kernel does not take it any more";
  if (found.failed()) return found.what + " " + found.verdict.detail;
  ratio = -1;
  for (const TermRatio& term : found.terms) {
    if (term.term == line.term) ratio = term.ratio;
  }
  if (ratio > 1) return "error/bound " + std::to_string(ratio) + " in " + line.term;
  if (ratio < 0) return "its term has no element any more";
  // The file has six digits. Every other difference is of a kernel, a bound or a recipe that has changed: a ratio that fell
  // without a better kernel is a bound that was eased.
  if (std::fabs(ratio - line.ratio) > kDigits * std::max(line.ratio, 0x1p-20)) {
    return "error/bound is " + std::to_string(ratio) + " now, not " + std::to_string(line.ratio) +
           ": if the change is meant, refresh the file (fuzz/README.md)";
  }
  return "";
}

TEST(Elites, none_is_a_violation_and_each_is_still_a_case) {
  std::set<std::string> keys;
  double largest = 0;
  for (const std::string& text : lines()) {
    const EliteLine line = parse_elite_line(text);
    EXPECT_TRUE(keys.insert(line.key()).second) << line.key() << " twice";
    double ratio = 0;
    EXPECT_EQ(complaint(line, ratio), "") << text;
    largest = std::max(largest, ratio);
  }
  EXPECT_FALSE(keys.empty()) << FLASHPROOF_ELITES;
  EXPECT_GT(largest, 0.5) << "these cases are hard for nobody";
}

TEST(Elites, what_is_no_case_or_of_no_kernel_is_said) {
  double ratio = 0;
  EliteLine line = parse_elite_line("merge.nway.hardened f32 o.weights 0.5 merge:normal:1:format=f32,n=5,rows=3");
  EXPECT_EQ(complaint(line, ratio).find("error/bound is "), 0U) << "another ratio than the line's";
  EXPECT_GT(ratio, 0);
  line.ratio = ratio;
  const std::string good = to_string(line);
  EXPECT_EQ(complaint(parse_elite_line(good), ratio), "");
  line.ratio = ratio * (1 + 2 * kDigits);
  EXPECT_NE(complaint(line, ratio), "") << "a bound that was eased";
  const auto of = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return complaint(parse_elite_line(text), ratio);
  };
  EXPECT_EQ(of("nway", "sideways"), "no such kernel");
  EXPECT_EQ(of("merge:normal", "merge:abnormal").find("no case any more"), 0U);
  EXPECT_EQ(of("merge.nway.hardened", "softmax.safe.hardened"), "the kernel does not take it any more");
  EXPECT_EQ(of("o.weights", "o.nothing"), "its term has no element any more");
}

TEST(Elites, a_broken_kernel_fails_the_case_of_the_right_one) {
  Kernel wrong = *find_kernel("merge.nway.hardened");
  wrong.arithmetic.exp_error = wrong.arithmetic.log_error = 0;
  wrong.launch = Launch(+[](const MergeArgs& args, Stream stream) {
    std::get<void (*)(const MergeArgs&, Stream)>(find_kernel("merge.nway.hardened")->launch)(args, stream);
    for (int i = 0; i < 3; ++i) args.lse[i] += 1e-3F;
  });
  const EliteLine line =
      parse_elite_line("merge.nway.hardened f32 lse.weights 0.5 merge:normal:1:format=f32,n=5,rows=3");
  EXPECT_EQ(score(wrong, {line.origin.spec, line.origin.make()}, {}).what, "exceeds_bound");
}

}  // namespace
}  // namespace flashproof
