// Negative controls of the laws about storage, special values, layout, batch, schedules, races and offsets: runs that break
// one rule each must fail by it, and the kernel as it is passes on the same case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/laws/test/teeth_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

const Kernel& softmax() { return *find_kernel("softmax.safe.hardened"); }
const Kernel& attention() { return *find_kernel("attention.deferred.hardened"); }
constexpr const char* kSoftmaxCase = "softmax:normal:1:rows=4,cols=40,chunk=16,format=f32";
constexpr const char* kCausalCase = "attention:normal:1:b=1,hq=1,hk=1,sq=8,sk=8,d=16,dv=16,causal=1,format=f32";

Verdict asked(std::string_view law, const Kernel& kernel, const char* line, const Runner& runner = Trial::run_kernel) {
  const Case c = make_case(parse_case_spec(line));
  Trial trial(kernel, c, nullptr, {}, runner);
  return ask(*find_law(law), trial);
}

/// The kernel's own output, the last bit of the first lse the other way where `when` says so.
template <class When>
Runner spoiled(When when) {
  return [when](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Output output = run(kernel, problem, options);
    if (when(problem, options)) output.lse.set_bits(0, output.lse.bits(0) ^ 1);
    return output;
  };
}

void expect_failure(std::string_view law, const char* line, Failure failure, const Runner& runner) {
  const Kernel& kernel = parse_case_spec(line).problem == ProblemKind::softmax ? softmax() : attention();
  EXPECT_EQ(to_string(asked(law, kernel, line)), "pass") << law << ": " << asked(law, kernel, line).detail;
  const Verdict verdict = asked(law, kernel, line, runner);
  EXPECT_TRUE(verdict.failed() && verdict.failure == failure) << law << ": " << to_string(verdict);
}

TEST(IsolationLaws, AReadBehindARowIsALeak) {
  expect_failure("unused_storage_is_isolated", kSoftmaxCase, Failure::leak,
                 spoiled([](const Problem& problem, const RunOptions&) {
                   const Tensor& x = std::get<SoftmaxProblem>(problem).x;
                   return x.bits(x.shape[1]) == 0;  // the first element of the room behind row 0
                 }));
}

TEST(IsolationLaws, OtherBitsOfRightNumbersAreToldAsSuch) {
  const auto leaks = [](bool far) {
    return [far](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
      Output output = run(kernel, problem, options);
      const Tensor& x = std::get<SoftmaxProblem>(problem).x;
      if (x.bits(x.shape[1]) == 0) output.lse.set_bits(0, output.lse.bits(0) ^ (far ? 1 << 20 : 1));
      return output;
    };
  };
  const std::string said = "other bits, both within the bound (sums in an order that depends on where tensors lie? ";
  EXPECT_THAT(asked("unused_storage_is_isolated", softmax(), kSoftmaxCase, leaks(false)).detail, HasSubstr(said));
  const Verdict far = asked("unused_storage_is_isolated", softmax(), kSoftmaxCase, leaks(true));
  EXPECT_TRUE(far.failed());
  EXPECT_THAT(far.detail, Not(HasSubstr(said)));
}

TEST(IsolationLaws, AHiddenNanThatShowsIsALeak) {
  // Row 0 sees key 0 alone.
  expect_failure("hidden_nan_is_isolated", kCausalCase, Failure::leak,
                 spoiled([](const Problem& problem, const RunOptions&) {
                   const auto& p = std::get<AttentionProblem>(problem);
                   for (std::int64_t j = 1; j < 8; ++j) {
                     if (std::isnan(p.v.at({0, 0, j, 0}))) return true;
                   }
                   return false;
                 }));
  Kernel undeclared = attention();
  undeclared.contract.isolates_hidden = false;
  EXPECT_EQ(to_string(asked("hidden_nan_is_isolated", undeclared, kCausalCase)), "unsupported");
}

TEST(IsolationLaws, ANanThatBecomesANumberIsLaundered) {
  const Runner launders = [](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
    Output output = run(kernel, problem, options);
    for (std::int64_t i = 0; i < output.o.elements(); ++i) {
      if (std::isnan(decode(output.o.format, output.o.bits(i)))) output.o.set_bits(i, 0);
    }
    return output;
  };
  for (const char* line : {kSoftmaxCase, kCausalCase}) {
    expect_failure("visible_nan_is_not_laundered", line, Failure::laundering, launders);
  }
  const Case merge = make_case(parse_case_spec("merge:normal:1:rows=6,n=3,dv=4,format=f32"));
  Trial trial(*find_kernel("merge.nway.hardened"), merge, nullptr, {}, launders);
  EXPECT_EQ(to_string(ask(*find_law("visible_nan_is_not_laundered"), trial)), "fail(laundering)");
}

TEST(IsolationLaws, ANanThatSpreadsToOtherRowsIsALeak) {
  expect_failure("visible_nan_is_not_laundered", kSoftmaxCase, Failure::leak,
                 [](const Kernel& kernel, const Problem& problem, const RunOptions& options) {
                   Output output = run(kernel, problem, options);
                   bool any = false;
                   for (std::int64_t r = 0; r < output.lse.elements(); ++r) any = any || std::isnan(output.lse.at({r}));
                   for (std::int64_t r = 0; any && r < output.lse.elements(); ++r) output.lse.set({r}, kNan);
                   return output;
                 });
}

// Kernels that write where they may not.
void writes_an_input(const SoftmaxArgs& args, Stream) { *static_cast<float*>(const_cast<void*>(args.x)) += 1; }
void writes_beside_an_input(const SoftmaxArgs& args, Stream) {
  *(static_cast<float*>(const_cast<void*>(args.x)) - 1) = 0;
}
void writes_beside_lse(const SoftmaxArgs& args, Stream) { args.lse[args.rows] = 0; }

TEST(IsolationLaws, AWriteBesideTheOutputsIsFound) {
  EXPECT_EQ(to_string(asked("red_zones_untouched", softmax(), kSoftmaxCase)), "pass");
  const std::pair<void (*)(const SoftmaxArgs&, Stream), const char*> wrong[] = {
      {writes_an_input, "wrote to an input"},
      {writes_beside_an_input, "wrote beside an input"},
      {writes_beside_lse, "wrote beyond the last element of lse"}};
  for (const auto& [launch, what] : wrong) {
    Kernel kernel = softmax();
    kernel.launch = launch;
    const Verdict verdict = asked("red_zones_untouched", kernel, kSoftmaxCase);
    EXPECT_EQ(to_string(verdict), "fail(error)");
    EXPECT_THAT(verdict.detail, HasSubstr(what));
  }
}

TEST(IsolationLaws, AnAnswerThatDependsOnStridesIsFound) {
  expect_failure("layout_invariance", kSoftmaxCase, Failure::leak,
                 spoiled([](const Problem& problem, const RunOptions&) {
                   return std::get<SoftmaxProblem>(problem).x.stride[1] != 1;
                 }));
}

TEST(IsolationLaws, AnAnswerThatDependsOnTheOtherRowsIsFound) {
  expect_failure("batch_invariance_is_bitwise", kSoftmaxCase, Failure::nondeterministic,
                 spoiled([](const Problem& problem, const RunOptions&) {
                   return std::get<SoftmaxProblem>(problem).x.shape[0] == 1;
                 }));
  expect_failure("batch_invariance_is_bitwise", kCausalCase, Failure::nondeterministic,
                 spoiled([](const Problem& problem, const RunOptions&) {
                   return std::get<AttentionProblem>(problem).q_length() < 8;
                 }));
}

// A row alone is nothing that it takes, a tile alone is.
TEST(IsolationLaws, OfAKernelOfWholeTilesATileAloneIsAsked) {
  constexpr const char* kLaw = "batch_invariance_is_bitwise";
  Kernel rows = softmax();
  rows.unsupported = Refusal(+[](const Problem& problem) -> std::string {
    return output_shape(problem).rows % 4 == 0 ? "" : "tiles of 4 rows";
  });
  const char* line = "softmax:normal:1:rows=8,cols=40,chunk=16,format=f32";
  EXPECT_EQ(to_string(asked(kLaw, rows, line)), "pass");
  const Verdict of_rows =
      asked(kLaw, rows, line,
            spoiled([](const Problem& problem, const RunOptions&) { return output_shape(problem).rows == 4; }));
  EXPECT_TRUE(of_rows.failed());
  EXPECT_THAT(of_rows.detail, HasSubstr("4 rows alone against the whole"));

  Kernel groups = attention();
  groups.unsupported = Refusal(+[](const Problem& problem) -> std::string {
    const auto& p = std::get<AttentionProblem>(problem);
    return p.q_heads() % 2 == 0 && p.batch() == 3 && p.q_length() == 8 ? "" : "pairs of heads, whole batches";
  });
  line = "attention:normal:1:b=3,hq=4,hk=2,sq=8,sk=8,d=16,dv=16,causal=1,format=f32";
  EXPECT_EQ(to_string(asked(kLaw, groups, line)), "pass");
  const Verdict of_heads = asked(kLaw, groups, line, spoiled([](const Problem& problem, const RunOptions&) {
                                   return std::get<AttentionProblem>(problem).q_heads() == 2;
                                 }));
  EXPECT_TRUE(of_heads.failed());
  EXPECT_THAT(of_heads.detail, HasSubstr("2 heads alone against the whole"));
}

TEST(IsolationLaws, AnAnswerThatDependsOnTheScheduleIsFound) {
  for (const bool lazy : {false, true}) {
    expect_failure("schedule_invariance_is_bitwise", kSoftmaxCase, Failure::nondeterministic,
                   spoiled([lazy](const Problem&, const RunOptions& options) {
                     return lazy ? options.schedule.lazy_copies : options.schedule.policy == simt::Policy::random;
                   }));
  }
}

TEST(IsolationLaws, ARaceIsFoundWhereTheKernelIsBuiltForTheShadow) {
  EXPECT_EQ(to_string(asked("no_race", softmax(), kSoftmaxCase)), "pass");
  const Verdict race = asked("no_race", *find_kernel("softmax.broken.partials_cleared_late"), kSoftmaxCase);
  EXPECT_EQ(to_string(race), "fail(nondeterministic)");
  EXPECT_THAT(race.detail, HasSubstr("races, first "));
  EXPECT_EQ(to_string(asked("no_race", *find_kernel("softmax.broken.tail_dropped"), kSoftmaxCase)), "unsupported");
  EXPECT_EQ(to_string(asked("no_race", softmax(), "softmax:normal:1:rows=64,cols=512")), "vacuous");
}

std::int64_t furthest = 0;
void notes_offsets(const SoftmaxArgs& args, Stream) {
  furthest = std::max(furthest, (args.rows - 1) * args.x_row + (args.cols - 1) * args.x_col);
}

TEST(IsolationLaws, OffsetsReallyExceedInt32) {
  expect_failure("offsets_beyond_int32", kSoftmaxCase, Failure::leak,
                 spoiled([](const Problem&, const RunOptions& options) { return options.far_axis == 1; }));
  Kernel kernel = softmax();
  kernel.launch = notes_offsets;
  for (const int axis : {0, 1}) {
    furthest = 0;
    run(kernel, make_case(parse_case_spec(kSoftmaxCase)).problem, {.far_axis = axis});
    EXPECT_GE(furthest, std::int64_t{1} << 31) << axis;
  }
}

TEST(IsolationLaws, PublishedKernelsToo_AreBatchInvariantAsTheyDeclare) {
  int passed = 0;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form != Form::published) continue;
    std::size_t asked_of = 0;
    for (TeethCase& c : teeth_cases(kernel.problem)) {
      if (!takes(kernel, c.content.problem) || ++asked_of > 20) continue;
      Trial trial(kernel, c.content, &c.truth);
      const Verdict verdict = ask(*find_law("batch_invariance_is_bitwise"), trial);
      EXPECT_FALSE(verdict.failed()) << kernel.id << " " << to_string(c.content.spec) << ": " << verdict.detail;
      passed += verdict.kind == VerdictKind::pass ? 1 : 0;
    }
  }
  EXPECT_GT(passed, 0);
}

}  // namespace
}  // namespace flashproof
