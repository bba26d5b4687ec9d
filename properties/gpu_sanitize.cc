// Every kernel but the seeded faults on small problems of every family, on the GPU, in this process and nothing
// else: the program to run under compute-sanitizer (properties/gpu_sanitize.sh).
//   gpu_sanitize KERNEL-PREFIX [SEEDS]     ("" = every kernel)
// Prints what ran. Exit: 0, 1 if nothing ran or a kernel faulted, 4 without a GPU.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernels/run/run.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

struct Counts {
  int ran = 0, refused = 0;
};

/// One launch, or none where the family has no such case or the kernel does not take it.
void run_one(const Kernel& kernel, Format format, const Family& family, std::uint64_t seed, Counts& counts) {
  const CaseSpec spec{kernel.problem, std::string(family.name), seed, {{"format", std::string(info(format).name)}}};
  try {
    run(kernel, make_case(spec).problem, {.executor = Executor::cuda});
    ++counts.ran;
  } catch (const UsageError&) {
    ++counts.refused;
  }
}

int sanitize(const std::string& prefix, std::uint64_t seeds) {
  std::string why;
  if (cuda_devices(&why) == 0) {
    std::fprintf(stderr, "gpu_sanitize: no usable GPU: %s\n", why.c_str());
    return 4;
  }
  Counts total;
  for (const Kernel& registered : kernels()) {
    if (registered.form == Form::broken || !registered.has_cuda || !registered.id.starts_with(prefix)) continue;
    for (const bool native : {false, true}) {
      if (native && !registered.has_native) continue;
      Kernel kernel = registered;
      if (native) kernel.cuda_launch = registered.native_launch;
      Counts counts;
      for (const Format format : kernel.formats) {
        for (const Family& family : families()) {
          if (!family.serves(kernel.problem)) continue;
          for (std::uint64_t seed = 1; seed <= seeds; ++seed) run_one(kernel, format, family, seed, counts);
        }
      }
      std::printf("%-44s %-6s ran %4d  refused %4d\n", std::string(kernel.id).c_str(), native ? "native" : "det",
                  counts.ran, counts.refused);
      std::fflush(stdout);
      total.ran += counts.ran;
    }
  }
  std::printf("launched problems: %d\n", total.ran);
  return total.ran > 0 ? 0 : 1;
}

}  // namespace
}  // namespace flashproof

int main(int count, char** arguments) {
  if (count < 2 || count > 3) {
    std::fprintf(stderr, "usage: gpu_sanitize KERNEL-PREFIX [SEEDS]\n");
    return 2;
  }
  const long seeds = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 1;
  if (seeds < 1 || seeds > 1000) {
    std::fprintf(stderr, "gpu_sanitize: SEEDS = %s: legal range 1..1000\n", arguments[2]);
    return 2;
  }
  try {
    return flashproof::sanitize(arguments[1], static_cast<std::uint64_t>(seeds));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_sanitize: %s\n", error.what());
    return 1;
  }
}
