// Every softmax reduction against arithmetic that errs as much as it declares, and every cost of README.md by leaving
// it out.
#include <gtest/gtest.h>

#include <string>

#include "reference/bound/softmax/test/attack_softmax.h"

namespace flashproof::bound {
namespace {

constexpr Machine::Mode kModes[] = {Machine::Mode::up,      Machine::Mode::down,  Machine::Mode::random,
                                    Machine::Mode::uniform, Machine::Mode::aimed, Machine::Mode::against};

AttackWorst attack(Arithmetic machine, Arithmetic declared, int rounds, std::uint64_t seed, bool scale_errors = true) {
  AttackWorst worst;
  for (int round = 0; round < rounds; ++round) {
    Random random(seed, static_cast<std::uint64_t>(round));
    machine.lanes = declared.lanes = 1 << random.integer(0, 3);
    machine.warps = declared.warps = machine.lanes > 1 && random.chance(0.5) ? 2 : 1;
    if (scale_errors) {
      const double error = random.chance(0.5) ? std::exp2(-random.uniform(3, 14)) : 0x1p-24;
      machine.exp_error = declared.exp_error = error;
      machine.log_error = declared.log_error = random.chance(0.5) ? error : 0x1p-24;
    }
    const bool unshifted =
        machine.reduction == Reduction::unshifted ||
        (machine.reduction == Reduction::chunk_states && machine.merge_weights == MergeWeights::unshifted);
    const SoftmaxProblem problem = draw_softmax(random, unshifted ? 80 : random.chance(0.5) ? 100 : 1e6);
    const Machine::Mode mode = kModes[random.integer(0, 5)];
    attack_softmax(problem, Machine(random, mode, machine), declared, worst);
  }
  return worst;
}

constexpr Arithmetic of(Reduction reduction, Exponent exponent = Exponent::accurate, Ending ending = Ending::divide) {
  return {.reduction = reduction, .exponent = exponent, .exp_error = 0x1p-23, .log_error = 0x1p-23, .ending = ending};
}
constexpr Arithmetic states(MergeWeights weights, Exponent exponent = Exponent::accurate,
                            Ending ending = Ending::divide) {
  Arithmetic a = of(Reduction::chunk_states, exponent, ending);
  a.merge_weights = weights;
  return a;
}
constexpr Arithmetic dealt(Arithmetic a, int vector_bytes) {
  a.vector_bytes = vector_bytes;
  return a;
}

constexpr Reduction kStrided = Reduction::strided_online;
constexpr Reduction kChunked = Reduction::chunked_online;
constexpr Reduction kLocal = Reduction::chunked_local;
constexpr Reduction kTwoPass = Reduction::two_pass;
constexpr Reduction kUnshifted = Reduction::unshifted;

TEST(AttackSoftmax, no_reduction_gives_way_to_leaning_errors) {
  const struct {
    const char* name;
    Arithmetic arithmetic;
    double reached;  // the attack must get this near, else it has gone soft
  } kinds[] = {
      {"strided online", of(kStrided), 0.4},
      {"strided online, scaled, reciprocal", of(kStrided, Exponent::scaled_exp2, Ending::multiply_reciprocal), 0.4},
      {"strided online, fused", of(kStrided, Exponent::fused), 0.3},
      {"strided online, division-free", of(kStrided, Exponent::accurate, Ending::division_free), 0.4},
      {"chunked online", of(kChunked), 0.4},
      {"chunked online, fused", of(kChunked, Exponent::fused), 0.3},
      {"chunked online, unfused", of(kChunked, Exponent::unfused), 0.3},
      {"chunked online, subtract then scale", of(kChunked, Exponent::subtract_then_scale), 0.4},
      {"chunked online, flushed", with(of(kChunked), Underflow::flush), 0.4},
      {"chunked local", of(kLocal), 0.4},
      {"chunked local, fused", of(kLocal, Exponent::fused), 0.3},
      {"chunked local, unfused, reciprocal", of(kLocal, Exponent::unfused, Ending::multiply_reciprocal), 0.3},
      {"chunked local, division-free", of(kLocal, Exponent::accurate, Ending::division_free), 0.4},
      {"chunked local, flushed", with(of(kLocal), Underflow::flush), 0.4},
      {"chunked local, dealt by four", dealt(of(kLocal), 16), 0.4},
      {"strided online, dealt by two", dealt(of(kStrided), 8), 0.4},
      {"two passes", of(kTwoPass), 0.4},
      {"two passes, dealt by four", dealt(of(kTwoPass), 16), 0.4},
      {"two passes, fused", of(kTwoPass, Exponent::fused), 0.4},
      {"two passes, unfused", of(kTwoPass, Exponent::unfused), 0.4},
      {"two passes, division-free", of(kTwoPass, Exponent::accurate, Ending::division_free), 0.4},
      {"two passes, division-free, fused", of(kTwoPass, Exponent::fused, Ending::division_free), 0.4},
      {"two passes, flushed", with(of(kTwoPass), Underflow::flush), 0.4},
      {"chunk states (m, d)", states(MergeWeights::max_sum), 0.4},
      {"chunk states (m, d), fused", states(MergeWeights::max_sum, Exponent::fused), 0.3},
      {"chunk states (m, d), reciprocal",
       states(MergeWeights::max_sum, Exponent::accurate, Ending::multiply_reciprocal), 0.4},
      {"chunk states (y, lse)", states(MergeWeights::shifted), 0.4},
      {"chunk states (y, lse), fused", states(MergeWeights::shifted, Exponent::fused), 0.3},
      {"chunk states (y, lse), unshifted", states(MergeWeights::unshifted), 0.4},
      {"chunk states (y, lse), unshifted, scaled", states(MergeWeights::unshifted, Exponent::scaled_exp2), 0.3},
      {"unshifted", of(kUnshifted), 0.4},
      {"unshifted, scaled", of(kUnshifted, Exponent::scaled_exp2), 0.4},
      {"unshifted, division-free", of(kUnshifted, Exponent::accurate, Ending::division_free), 0.4},
  };
  std::uint64_t seed = 900;
  for (const auto& kind : kinds) {
    const AttackWorst worst = attack(kind.arithmetic, kind.arithmetic, 400, seed++);
    RecordProperty(kind.name, std::to_string(worst.reached.ratio) + " " + std::to_string(worst.lse.ratio));
    EXPECT_LE(worst.o.ratio, 1) << kind.name;
    EXPECT_LE(worst.lse.ratio, 1) << kind.name;
    EXPECT_GE(worst.reached.ratio, kind.reached) << kind.name << ": the attack has gone soft";
    EXPECT_GE(worst.lse.ratio, 0.3) << kind.name << ": the attack has gone soft";
  }
}

TEST(AttackSoftmax, every_cost_is_needed) {
  const Arithmetic chunked = of(kChunked);
  const Arithmetic pass = of(kTwoPass);
  Arithmetic log_absolute = pass;
  log_absolute.log_absolute = 0x1p-10;
  log_absolute.ending = Ending::division_free;
  Arithmetic log_exact = log_absolute;
  log_exact.log_absolute = 0;
  Arithmetic reciprocal = pass;
  reciprocal.ending = Ending::multiply_reciprocal;
  reciprocal.reciprocal_error = 0x1p-12;
  Arithmetic nearest = reciprocal;
  nearest.reciprocal_error = 0;
  const struct {
    const char* name;
    Arithmetic machine, declared;
  } controls[] = {
      {"an exponential twice as good", erring(pass, 0x1p-8, 0), erring(pass, 0x1p-9, 0)},
      {"a logarithm twice as good", erring(pass, 0, 0x1p-8), erring(pass, 0, 0x1p-9)},
      {"no absolute error of the logarithm", log_absolute, log_exact},
      {"no rescales: two passes for chunked online", erring(chunked, 0x1p-8, 0), erring(pass, 0x1p-8, 0)},
      {"no frame of its own: chunked online for chunked local", erring(of(kLocal), 0x1p-8, 0),
       erring(chunked, 0x1p-8, 0)},
      {"no rescales: two passes for strided online", erring(of(kStrided), 0x1p-8, 0), erring(pass, 0x1p-8, 0)},
      {"no exponentials of chunks: two passes for chunk states", erring(states(MergeWeights::max_sum), 0x1p-8, 0),
       erring(pass, 0x1p-8, 0)},
      {"no |lse| of chunks: (m, d) for (y, lse)", states(MergeWeights::shifted), states(MergeWeights::max_sum)},
      {"a sum that divides: divide for division-free", of(kTwoPass, Exponent::accurate, Ending::division_free), pass},
      {"no frame: scaled for fused, lse", of(kTwoPass, Exponent::fused), of(kTwoPass, Exponent::scaled_exp2)},
      {"one frame: two passes for chunked online, fused", of(kChunked, Exponent::fused), of(kTwoPass, Exponent::fused)},
      {"no product: fused for unfused", of(kTwoPass, Exponent::unfused), of(kTwoPass, Exponent::fused)},
      {"no slope: accurate for scaled", erring(of(kTwoPass, Exponent::scaled_exp2), 0x1p-40, 0x1p-40),
       erring(pass, 0x1p-40, 0x1p-40)},
      {"no product of x: accurate for scaled, unshifted", of(kUnshifted, Exponent::scaled_exp2), of(kUnshifted)},
      {"no reciprocal", reciprocal, pass},
      {"a reciprocal rounded to nearest", reciprocal, nearest},
      {"gradual underflow", with(pass, Underflow::flush), pass},
  };
  std::uint64_t seed = 1300;
  for (const auto& control : controls) {
    const AttackWorst worst = attack(control.machine, control.declared, 400, seed++, false);
    EXPECT_GT(worst.largest(), 1) << control.name << ": no case needs it";
  }
}

}  // namespace
}  // namespace flashproof::bound
