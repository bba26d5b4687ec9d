// race_test.cc for the gradient: every hardened backward kernel on small problems, under the shadow and under every
// schedule. Kernels come from the registry, so a new one is in here from its first build.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/run/observe.h"
#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/problem/random.h"
#include "reference/system/test/test_name.h"

namespace flashproof {
namespace {

constexpr int kRandomSchedules = 20;

struct GradientCase {
  std::string name;
  BackwardProblem problem;
};

Tensor reshaped(Tensor tensor, const std::vector<std::int64_t>& shape) {
  Tensor result = Tensor::dense(tensor.format, shape);
  result.storage = std::move(tensor.storage);
  return result;
}

/// The family's problem, without the bias that it may have drawn if the kernels that refuse one are to take it; what a forward kernel makes of it, and some dO.
GradientCase gradient_case(const CaseSpec& spec, bool keep_bias) {
  BackwardProblem p;
  p.forward = std::get<AttentionProblem>(make_case(spec).problem);
  if (!keep_bias) p.forward.bias = {};
  const AttentionProblem& f = p.forward;
  Output forward = run(*find_kernel("attention.deferred.hardened"), f);
  const std::vector<std::int64_t> wide = {f.batch(), f.q_heads(), f.q_length(), f.value_dim()};
  p.o = reshaped(std::move(forward.o), wide);
  p.lse = reshaped(std::move(forward.lse), {f.batch(), f.q_heads(), f.q_length()});
  p.d_out = Tensor::dense(f.q.format, wide);
  Random random(spec.seed, 0xd0);
  for (std::int64_t i = 0; i < p.d_out.elements(); ++i) p.d_out.set_bits(i, encode(f.q.format, random.normal()));
  return {to_string(spec), std::move(p)};
}

/// Two query tiles by three key tiles, ragged; two query heads read one kv head. Formats in turn.
std::vector<GradientCase> small_cases() {
  constexpr const char* kFormats[] = {"f32", "f16", "bf16"};
  std::vector<GradientCase> cases;
  std::uint64_t i = 0;
  for (const char* name : {"normal", "normal", "normal", "mask_random", "window", "alibi", "special_values"}) {
    CaseSpec spec{ProblemKind::attention,
                  name,
                  i,
                  {{"b", "2"}, {"hq", "2"}, {"hk", "1"}, {"sq", "18"}, {"sk", "40"}, {"d", "16"}, {"dv", "12"}}};
    spec.keys["format"] = kFormats[i++ % std::size(kFormats)];
    cases.push_back(gradient_case(spec, spec.family != "normal"));
  }
  // More than one group of 32 columns.
  cases.push_back(gradient_case({ProblemKind::attention,
                                 "normal",
                                 i,
                                 {{"b", "1"}, {"hq", "1"}, {"hk", "1"}, {"sq", "20"}, {"sk", "17"}, {"d", "40"}}},
                                false));
  return cases;
}

std::vector<const Kernel*> hardened() {
  std::vector<const Kernel*> list;
  for (const Kernel& kernel : kernels_of(ProblemKind::backward)) {
    if (kernel.form == Form::hardened) list.push_back(&kernel);
  }
  return list;
}

class BackwardRaceTest : public testing::TestWithParam<const Kernel*> {
 protected:
  static void SetUpTestSuite() { cases_ = small_cases(); }

  /// Those that this kernel takes.
  static std::vector<const GradientCase*> cases() {
    std::vector<const GradientCase*> list;
    for (const GradientCase& c : cases_) {
      const bool format = GetParam()->supports(c.problem.forward.q.format);
      if (format && GetParam()->unsupported(c.problem).empty()) list.push_back(&c);
    }
    return list;
  }

 private:
  static std::vector<GradientCase> cases_;
};
std::vector<GradientCase> BackwardRaceTest::cases_;

void expect_same_bits(const Output& a, const Output& b, const std::string& where) {
  EXPECT_EQ(a.dq.storage, b.dq.storage) << where;
  EXPECT_EQ(a.dk.storage, b.dk.storage) << where;
  EXPECT_EQ(a.dv.storage, b.dv.storage) << where;
}

TEST_P(BackwardRaceTest, is_clean_under_the_shadow) {
  std::set<Format> formats;
  for (const GradientCase* c : cases()) {
    formats.insert(c->problem.forward.q.format);
    const Observation seen = observe(*GetParam(), c->problem);
    EXPECT_GT(seen.accesses, 0U) << c->name;
    EXPECT_TRUE(seen.races.empty()) << c->name << ": " << seen.race_count << " races, " << seen.races[0].text;
    // The instrumented kernel is the same kernel; the plain schedule is one order of the atomics, in both.
    expect_same_bits(seen.output, run(*GetParam(), c->problem), c->name);
  }
  EXPECT_EQ(formats.size(), GetParam()->formats.size()) << "no case of some format suits the kernel: add one that does";
}

// What is not watched is not seen: with every tensor watched, each of them is read or written.
TEST_P(BackwardRaceTest, the_shadow_sees_every_tensor) {
  ASSERT_FALSE(cases().empty());
  const GradientCase& c = *cases().front();
  std::string untouched;
  std::string names;
  for (const simt::Traffic& t : observe(*GetParam(), c.problem, {.races = false, .traffic = true}).traffic) {
    names += t.name + " ";
    if (t.loads + t.stores == 0) untouched += t.name + " ";
  }
  EXPECT_EQ(names, "q k v plan.boundary plan.order d_out o lse dq dk dv workspace ");
  EXPECT_EQ(untouched, "plan.boundary plan.order ");  // args.h: the plan is not looked at
}

TEST_P(BackwardRaceTest, gives_the_same_bits_under_every_schedule) {
  if (!GetParam()->contract.deterministic) GTEST_SKIP() << "declares that it is not deterministic";
  std::vector<std::string> schedules = {"lifo", "fifo+lazy", "random:0+lazy"};
  for (int seed = 0; seed < kRandomSchedules; ++seed) schedules.push_back("random:" + std::to_string(seed));
  for (const GradientCase* c : cases()) {
    const Output fifo = run(*GetParam(), c->problem);
    for (const std::string& schedule : schedules) {
      const simt::Schedule other = simt::parse_schedule(schedule);
      expect_same_bits(fifo, run(*GetParam(), c->problem, {.schedule = other}), c->name + " " + schedule);
    }
    const ObserveOptions preempt{.schedule = simt::parse_schedule("random:1/64"), .races = false};
    expect_same_bits(fifo, observe(*GetParam(), c->problem, preempt).output, c->name + " random:1/64");
  }
}

INSTANTIATE_TEST_SUITE_P(Hardened, BackwardRaceTest, testing::ValuesIn(hardened()),
                         [](const auto& info) { return test_name(info.param->id); });

}  // namespace
}  // namespace flashproof
