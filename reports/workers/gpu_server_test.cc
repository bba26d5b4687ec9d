#include "reports/workers/gpu_server.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

#include "kernels/run/run.h"
#include "reference/system/error.h"
#include "reports/run/sweep.h"

namespace flashproof {
namespace {

/// The server with the CPU executor in the GPU's place, so that the way there and back is tested on every machine.
/// Case 1 ends the process, case 2 is refused, case 3 breaks the driver, case 4 is a kernel's fault, case 5 hangs.
struct Fixture {
  Plan plan = make_plan({{"attention.deferred.hardened"}, {"normal"}, {"f16"}}, SweepTier::quick, 0, {Executor::cuda});
  const Kernel& kernel = *plan.kernels.at(0);

  Fixture() {
    plan.cases.resize(6, plan.cases.at(0));
    for (std::size_t i = 1; i < plan.cases.size(); ++i) plan.cases[i].spec.seed = i;
  }

  GpuRunner runner() const {
    return [this](const Kernel& asked, const Problem& problem) {
      const auto is = [&](std::size_t i) {
        return std::get<AttentionProblem>(problem).q.storage ==
               std::get<AttentionProblem>(plan.make(i).problem).q.storage;
      };
      if (is(1)) std::abort();
      if (is(2)) throw UsageError("refused");
      if (is(3)) throw InfrastructureError("context broken");
      if (is(4)) throw KernelFault("illegal address");
      while (is(5)) ::usleep(1000);
      return flashproof::run(asked, problem);
    };
  }
};

/// The words of the KernelFault that this case ends in.
std::string fault(const GpuServer& server, const Fixture& f, std::size_t case_index) {
  try {
    server.run(f.kernel, case_index, f.plan.make(case_index).problem);
  } catch (const KernelFault& e) {
    return e.what();
  }
  return "(no fault)";
}

TEST(GpuServer, hands_back_the_bits_and_survives_whatever_a_kernel_does) {
  Fixture f;
  const GpuServer server(f.plan, {.runner = f.runner()});
  const Problem good = f.plan.make(0).problem;
  const Output expected = flashproof::run(f.kernel, good);
  const auto expect_good = [&] {
    const Output output = server.run(f.kernel, 0, good);
    EXPECT_EQ(output.o.storage, expected.o.storage);
    EXPECT_EQ(output.lse.storage, expected.lse.storage);
    EXPECT_EQ(output.o.shape, expected.o.shape);
  };
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 1, f.plan.make(1).problem), GpuProcessEnded);
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 2, f.plan.make(2).problem), UsageError);
  expect_good();
  EXPECT_THROW(server.run(f.kernel, 3, f.plan.make(3).problem), InfrastructureError);
  expect_good();
  EXPECT_EQ(fault(server, f, 4), "illegal address");
  expect_good();
}

/// The kernel's time starts with its turn: a good kernel that waits behind a hung one for longer than any kernel may
/// take is not blamed.
TEST(GpuServer, a_kernel_that_hangs_is_ended_and_those_in_the_queue_behind_it_run) {
  Fixture f;
  const GpuServer server(f.plan, {.runner = f.runner(), .kernel_seconds = 2});
  std::string hung;
  int started = 0;
  std::thread first([&] { hung = fault(server, f, 5); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::thread second([&] { EXPECT_EQ(fault(server, f, 5), hung); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NO_THROW(server.run(f.kernel, 0, f.plan.make(0).problem, [&] { ++started; }));
  first.join(), second.join();
  EXPECT_EQ(hung, "the kernel did not end on the GPU within 2 s");
  EXPECT_EQ(started, 1);
}

TEST(GpuServer, without_its_supervisor_it_is_gone_and_nobody_waits_for_it) {
  Fixture f;
  const GpuServer server(f.plan, {.runner = f.runner()});
  EXPECT_NO_THROW(server.run(f.kernel, 0, f.plan.make(0).problem));
  std::thread waiting([&] {
    // In the hands of the serving process, which dies with the supervisor: not this kernel's doing.
    EXPECT_THROW(server.run(f.kernel, 5, f.plan.make(5).problem), InfrastructureError);
  });
  std::thread queued([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_THROW(server.run(f.kernel, 0, f.plan.make(0).problem), InfrastructureError);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(server.supervisor(), SIGKILL);
  waiting.join(), queued.join();
  EXPECT_THROW(server.run(f.kernel, 0, f.plan.make(0).problem), InfrastructureError);
}

TEST(GpuServer, survives_a_client_that_says_nothing_or_half_and_signals_to_the_group) {
  Fixture f;
  const GpuServer server(f.plan, {.runner = f.runner()});
  const Problem good = f.plan.make(0).problem;
  EXPECT_THROW(server.run(f.kernel, 99, good), InfrastructureError);  // no such case
  ::kill(server.supervisor(), SIGTERM);
  ::kill(server.supervisor(), SIGINT);
  EXPECT_NO_THROW(server.run(f.kernel, 0, good));
}

/// A fault of the GPU is the kernel's finding; a fault of the machine leaves a partial result.
TEST(GpuServer, faults_become_findings_of_the_sweep) {
  Fixture f;
  Kernel on_gpu = f.kernel;  // whatever this build has
  on_gpu.has_cuda = true;
  Plan plan = f.plan;
  plan.kernels = {&on_gpu};
  const auto swept = [&](std::size_t i) {
    plan.cases = {f.plan.cases[i]};
    return sweep(plan, {.jobs = 1, .gpu = {.runner = f.runner(), .kernel_seconds = 2}});
  };
  EXPECT_EQ(swept(0).records.at(0).verdict(), VerdictKind::pass);
  for (const auto& [i, why] :
       std::map<std::size_t, std::string>{{1, "the process that owns the GPU ended while it ran this kernel"},
                                          {4, "illegal address"},
                                          {5, "the kernel did not end on the GPU within 2 s"}}) {
    const SweepResult result = swept(i);
    EXPECT_FALSE(result.partial) << result.failure;
    ASSERT_EQ(result.records.size(), 1U);
    EXPECT_EQ(result.records[0].executor, Executor::cuda);
    EXPECT_EQ(result.records[0].failures_by_case[static_cast<std::size_t>(Failure::error)], 1U);
    EXPECT_EQ(result.records[0].worst->verdict.detail, why);
  }
  const SweepResult broken = swept(3);
  EXPECT_TRUE(broken.partial);
  EXPECT_EQ(broken.failure, to_string(f.plan.cases[3].spec) + ": context broken");
  EXPECT_TRUE(broken.records.empty());
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
