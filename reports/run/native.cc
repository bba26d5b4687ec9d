#include "reports/run/native.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/probe/probe.h"
#include "kernels/run/native_kernel.h"
#include "kernels/special_functions/tables.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/workers/gpu_server.h"

namespace flashproof {

void check_math(const std::string& math, const std::string& profile_file) {
  if (math != "det" && math != "native" && math != "all") {
    throw UsageError("--math " + quote(math) + ": det, native or all");
  }
  if (math == "det" && !profile_file.empty()) {
    throw UsageError("--profile: only native math uses one (--math native or all)");
  }
}

namespace {

bool runs_on(const Plan& plan, Executor executor) {
  return std::ranges::find(plan.executors, executor) != plan.executors.end();
}

/// On fibers or as PTX: with the modelled bits.
bool runs_here(const Plan& plan) { return runs_on(plan, Executor::cpu) || runs_on(plan, Executor::ptx); }

void require_model(const Gpu& gpu) {
  if (special::tables_of(gpu.compute_capability) != nullptr) return;
  throw UsageError(
      fmt::format("native math of {}, compute capability {}: the CPU executor has the bits of {} alone; "
                  "--exec cuda runs it there",
                  quote(gpu.name), gpu.compute_capability, special::kModelled));
}

Profile profile_for(const Plan& plan, const std::string& profile_file) {
  Profile profile;
  if (runs_on(plan, Executor::cuda)) {
    const Gpu gpu = gpu_elsewhere();
    profile = profile_file.empty() ? find_profile(shipped_profiles(), gpu) : load_profile(profile_file);
    require_gpu(profile, gpu);
  } else {
    profile = profile_file.empty() ? modelled_profile() : load_profile(profile_file);
  }
  if (runs_here(plan)) require_model(profile.gpu);
  return profile;
}

template <class MakeNative>
void add_native_forms(Plan& plan, bool keep_det, MakeNative make_native) {
  auto all = std::move(plan.kernels);
  plan.kernels.clear();
  const bool on_cpu = runs_here(plan);
  for (const auto* kernel : all) {
    if (keep_det) plan.kernels.push_back(kernel);
    if (!kernel->has_native && !on_cpu) continue;
    plan.native.push_back(std::make_shared<const Kernel>(make_native(*kernel)));
    plan.kernels.push_back(plan.native.back().get());
  }
  if (!plan.native.empty()) return;
  throw UsageError("--math: none of the selected kernels has a native form on the GPU (the seeded faults have none)");
}

}  // namespace

void add_native(Plan& plan, const Profile& profile, bool keep_det) {
  add_native_forms(plan, keep_det, [&](const Kernel& det) { return native_kernel(det, profile); });
}

void add_native_bits(Plan& plan, const Gpu& gpu, bool keep_det) {
  require_model(gpu);
  add_native_forms(plan, keep_det, with_native_launches);
}

std::string choose_math(Plan& plan, const std::string& math, const std::string& profile_file) {
  if (math == "det") return {};
  const Profile profile = profile_for(plan, profile_file);
  add_native(plan, profile, math == "all");
  return fmt::format("{} of {}", profile.gpu.name, profile.date);
}

Gpu gpu_elsewhere() {
  const ChildAnswer answer = ask_elsewhere([] {
    try {
      const Gpu gpu = probe::this_gpu();
      return gpu.compute_capability + " " + gpu.name;
    } catch (const std::exception& e) {
      return std::string(" ") + e.what();
    }
  });
  const std::string reply = answer.answered() ? answer.text : " the process that asked it " + answer.complaint();
  const std::size_t space = reply.find(' ');
  if (space == 0 || space == std::string::npos) {
    throw InfrastructureError("the GPU does not say what it is:" + reply);
  }
  return {reply.substr(space + 1), reply.substr(0, space)};
}

}  // namespace flashproof
