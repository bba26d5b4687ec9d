#include "reports/run/native.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "kernels/probe/probe.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/workers/gpu_server.h"

namespace flashproof {

namespace fs = std::filesystem;

void check_math(const std::string& math, const std::string& profile_file, const std::string& executor) {
  if (math != "det" && math != "native" && math != "all") {
    throw UsageError("--math " + quote(math) + ": det, native or all");
  }
  if (math == "det") {
    if (!profile_file.empty()) throw UsageError("--profile: only native math uses one (--math native or all)");
    return;
  }
  if (executor != "cuda") {
    throw UsageError("--math " + math + ": native math is the GPU's own, legal with --exec cuda");
  }
}

Kernel native_kernel(const Kernel& det, const Profile& profile) {
  Kernel native = det;
  native.math = Math::native;
  if (det.problem == ProblemKind::backward) {
    native.backward = with_profile(det.backward, profile);
  } else {
    native.arithmetic = with_profile(det.arithmetic, profile);
  }
  native.has_cuda = det.has_native;
  native.cuda_launch = det.native_launch;
  return native;
}

namespace {

Profile profile_for(const std::string& profile_file) {
  const Gpu gpu = gpu_elsewhere();
  Profile profile = profile_file.empty() ? find_profile(shipped_profiles(), gpu) : load_profile(profile_file);
  require_gpu(profile, gpu);
  return profile;
}

}  // namespace

void add_native(Plan& plan, const Profile& profile, bool keep_det) {
  auto all = std::move(plan.kernels);
  plan.kernels.clear();
  for (const auto* kernel : all) {
    if (keep_det) plan.kernels.push_back(kernel);
    if (!kernel->has_native) continue;
    plan.native.push_back(std::make_shared<const Kernel>(native_kernel(*kernel, profile)));
    plan.kernels.push_back(plan.native.back().get());
  }
  if (!plan.native.empty()) return;
  throw UsageError("--math: none of the selected kernels has a native form (the seeded faults have none)");
}

std::string choose_math(Plan& plan, const std::string& math, const std::string& profile_file) {
  if (math == "det") return {};
  const Profile profile = profile_for(profile_file);
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

fs::path shipped_profiles() {
  std::error_code error;
  for (fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path(); !error && !folder.empty();
       folder = folder.parent_path()) {
    const fs::path profiles = folder / "reference" / "bound" / "profiles";
    if (fs::is_directory(profiles, error)) return profiles;
    error.clear();
    if (folder == folder.parent_path()) break;
  }
  return {};
}

}  // namespace flashproof
