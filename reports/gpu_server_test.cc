#include "reports/gpu_server.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/run.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

/// The server with the CPU executor in the GPU's place, so that the way there and back is tested on every machine.
/// Case 1 ends the process, case 2 is refused, case 3 breaks the context.
struct Fixture {
  Plan plan = make_plan({{"attention.deferred.hardened"}, {"normal"}, {"f16"}}, Tier::quick, 0, {Executor::cuda});
  const Kernel& kernel = *plan.kernels.at(0);

  Fixture() { plan.cases.resize(4, plan.cases.at(0)); }

  GpuRunner runner() const {
    return [this](const Kernel& asked, const Problem& problem) {
      const auto is = [&](std::size_t i) {
        return std::get<AttentionProblem>(problem).q.storage ==
               std::get<AttentionProblem>(plan.make(i).problem).q.storage;
      };
      if (is(1)) std::abort();
      if (is(2)) throw UsageError("refused");
      if (is(3)) throw InfrastructureError("context broken");
      return flashproof::run(asked, problem);
    };
  }
};

TEST(GpuServer, hands_back_the_bits_and_survives_whatever_a_kernel_does) {
  Fixture f;
  for (std::size_t i = 1; i < f.plan.cases.size(); ++i) f.plan.cases[i].spec.seed = i;
  const GpuServer server(f.plan, f.runner());
  const Problem good = f.plan.make(0).problem;
  const Output expected = flashproof::run(f.kernel, good);
  const auto expect_good = [&] {
    const Output output = server.run(f.kernel, 0, good);
    EXPECT_EQ(output.o.storage, expected.o.storage);
    EXPECT_EQ(output.lse.storage, expected.lse.storage);
    EXPECT_EQ(output.o.shape, expected.o.shape);
  };
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 1, f.plan.make(1).problem), GpuProcessDied);
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 2, f.plan.make(2).problem), UsageError);
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 3, f.plan.make(3).problem), InfrastructureError);
  expect_good();
}

TEST(GpuServer, counting_devices_never_fails) {
  std::string why;
  const int devices = cuda_devices_elsewhere(&why);
  EXPECT_GE(devices, 0);
  if (devices == 0) {
    EXPECT_NE(why, "");
  }
}

}  // namespace
}  // namespace flashproof
