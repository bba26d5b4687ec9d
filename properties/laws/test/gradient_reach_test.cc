// What the covering array of gradients reaches beyond the other families decides something: a fault that shows only there is failed
// by a judging law on a row of it, where the rounded truth passes, and on no case of another family.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "properties/generators/backward_case.h"
#include "properties/generators/coverage/dimensions.h"
#include "properties/generators/family.h"
#include "properties/laws/law.h"
#include "reference/error/trivial.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

std::int64_t measured(const Problem& problem, AttentionAxis axis) {
  return dimensions(ProblemKind::backward)[axis_of(ProblemKind::backward, axis)].measure(problem);
}

/// 0 from place `from` of the axis on: 2, the sequence, or 3, the columns.
void zero_from(Tensor& gradient, std::size_t axis, std::int64_t from) {
  const std::vector<std::int64_t>& shape = gradient.shape;
  for (std::int64_t n = 0; n < gradient.elements(); ++n) {
    const std::int64_t place = axis == 3 ? n % shape[3] : n / shape[3] % shape[2];
    if (place >= from) gradient.set_bits(n, 0);
  }
}

struct Fault {
  const char* name;
  bool (*shows)(const Problem& problem);
  void (*spoil)(Output& gradients);
  /// Else `sizes` has no such case, and `pairs` alone must show it.
  bool of_sizes;
  /// Families that meet it, by name: by chance, in one format, or in one case.
  std::string_view also = {};
};

constexpr std::int64_t kFewKeys = 3072, kFewColumns = 256, kFewTiles = 100, kLeastScale = -120;

constexpr Fault kFaults[] = {
    {"keys from the 3073rd on have no dv", [](const Problem& p) { return measured(p, kKeys) > kFewKeys; },
     [](Output& g) { zero_from(g.dv, 2, kFewKeys); }, true, "feature_edges model_sizes"},
    {"keys from the 3073rd on have no dk", [](const Problem& p) { return measured(p, kKeys) > kFewKeys; },
     [](Output& g) { zero_from(g.dk, 2, kFewKeys); }, true, "feature_edges model_sizes"},
    {"dq of 100 and more tiles is 0", [](const Problem& p) { return measured(p, kTiles) >= kFewTiles; },
     [](Output& g) { zero_from(g.dq, 2, 0); }, true, "model_sizes"},
    {"a scale below 2^-120 is 0", [](const Problem& p) { return measured(p, kScale) < kLeastScale; },
     [](Output& g) {
       zero_from(g.dq, 2, 0);
       zero_from(g.dk, 2, 0);
     },
     false, "huge feature_edges"},
    {"columns of dv from 256 on are 0", [](const Problem& p) { return measured(p, kValueDim) > kFewColumns; },
     [](Output& g) { zero_from(g.dv, 3, kFewColumns); }, true, "model_sizes"},
    {"columns of dq and dk from 256 on are 0", [](const Problem& p) { return measured(p, kDim) > kFewColumns; },
     [](Output& g) {
       zero_from(g.dq, 3, kFewColumns);
       zero_from(g.dk, 3, kFewColumns);
     },
     true, "model_sizes"},
};

CaseSpec spec_of(std::string_view family, std::uint64_t seed) {
  return {ProblemKind::backward, std::string(family), seed, {{"format", "f32"}}};
}

Tensor rounded(const Tensor& input, const Balls& truth) {
  Tensor tensor = Tensor::dense(input.format, input.shape);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Ball ball = truth[i];
    const double other = (ball.classes & kNaN) != 0      ? std::nan("")
                         : (ball.classes & kPosInf) != 0 ? std::numeric_limits<double>::infinity()
                                                         : -std::numeric_limits<double>::infinity();
    const double value = (ball.classes & kFinite) != 0 ? ball.hi : other;
    tensor.set_bits(static_cast<std::int64_t>(i), encode(input.format, value));
  }
  return tensor;
}

/// Whether a judging law fails the fault on this case, and none fails the rounded truth.
bool decides(const Fault& fault, const CaseSpec& spec) {
  const Kernel& kernel = *find_kernel("attention_backward.two_kernels.hardened");
  const Case subject = make_case(spec);
  const auto& problem = std::get<BackwardProblem>(subject.problem);
  const Truth truth = backward_truth(problem, problem.forward.q.format);
  const Bound bound = backward_bound(problem, kernel.backward_for(problem.forward.q.format), forward_errors(problem));
  const auto fails = [&](const Output& gradients) {
    const Judgement judgement = judge(gradients, truth, bound, kernel.contract, 0);
    for (const Law& law : judging_laws()) {
      if (law.judge({kernel, subject, gradients, truth, bound, judgement}).failed()) return true;
    }
    return false;
  };
  Output gradients{.dq = rounded(problem.forward.q, truth.dq),
                   .dk = rounded(problem.forward.k, truth.dk),
                   .dv = rounded(problem.forward.v, truth.dv)};
  if (fails(gradients)) return false;
  fault.spoil(gradients);
  return fails(gradients);
}

/// Of a default report: cases of this family that show the fault, and the first that a law fails.
struct Found {
  int shown = 0;
  std::string by;
};
Found found_by(const Fault& fault, const Family& family) {
  Found found;
  for (std::uint64_t seed = 1; seed <= family.cases(ProblemKind::backward, kDefaultSeeds); ++seed) {
    const CaseSpec spec = spec_of(family.name, seed);
    const auto drawn = drawn_shape(spec);
    if (!drawn || !fault.shows(*drawn)) continue;
    ++found.shown;
    if (found.by.empty() && decides(fault, spec)) found.by = to_string(spec);
  }
  return found;
}

class GradientReach : public testing::TestWithParam<Fault> {};

TEST_P(GradientReach, is_found_by_the_rows_and_by_nothing_else) {
  const Fault& fault = GetParam();
  for (const Family& family : families()) {
    if (!family.serves(ProblemKind::backward)) continue;
    const Found found = found_by(fault, family);
    if (family.name != "pairs" && family.name != "sizes") {
      EXPECT_TRUE(found.by.empty() || fault.also.find(family.name) != fault.also.npos)
          << "found without the rows, too: " << found.by;
      continue;
    }
    if (!fault.of_sizes && family.name == "sizes") continue;
    EXPECT_FALSE(found.by.empty()) << family.name << ": " << found.shown << " cases, none of which is failed";
    std::printf("%s: %d cases of %s, failed by %s\n", fault.name, found.shown, std::string(family.name).c_str(),
                found.by.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, GradientReach, testing::ValuesIn(kFaults),
                         [](const auto& of) { return "f" + std::to_string(of.index); });

}  // namespace
}  // namespace flashproof
