// ptx_wgmma_gpu: what this GPU gives for the cases of wgmma (golden/wgmma.h), as the driver compiles their PTX.
//   check          the hashes of its results against those of the list; status 1 if one differs or is not there
//   golden > FILE  the list, with the hashes of this GPU: wgmma_sm_90.inc
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "kernels/ptx/test/golden/form.h"
#include "kernels/ptx/test/golden/wgmma.h"
#include "reference/oracle/gpu/device.h"

namespace flashproof::ptx::golden {
namespace {

struct Measured {
  const char* name;
  unsigned long long hash;
};
#define FP_PTX_WGMMA(name, hash) {name, hash},
const Measured kMeasured[] = {
#include "kernels/ptx/test/golden/wgmma_sm_90.inc"
    {"", 0}};
#undef FP_PTX_WGMMA

std::uint64_t measure(const WgmmaCase& what) {
  const std::string text = wgmma_text(what), name = name_of(what);
  cudaLibrary_t library{};
  gpu::check(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), name.c_str());
  cudaKernel_t kernel{};
  gpu::check(cudaLibraryGetKernel(&kernel, library, "k"), name.c_str());
  const gpu::DeviceArray<std::uint32_t> in(wgmma_input(what));
  gpu::DeviceArray<std::uint32_t> out(kWgmmaOutputWords);
  out.fill(0);
  const void *from = in.data(), *to = out.data();
  void* arguments[] = {&from, &to};
  gpu::check(
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(kWgmmaThreads), arguments, 0, nullptr),
      name.c_str());
  gpu::synchronize(name.c_str());
  const std::vector<std::uint32_t> results = out.fetch();
  gpu::check(cudaLibraryUnload(library), name.c_str());
  return hash_of(std::vector<std::uint64_t>(results.begin(), results.end()));
}

int check() {
  int differ = 0, cases = 0;
  for (const WgmmaCase& what : wgmma_cases()) {
    ++cases;
    const std::string name = name_of(what);
    const std::uint64_t hash = measure(what);
    bool is_there = false;
    for (const Measured& measured : kMeasured) is_there |= name == measured.name && hash == measured.hash;
    if (is_there) continue;
    std::printf("differs: %s\n", name.c_str());
    ++differ;
  }
  std::printf("%d of %d cases differ\n", differ, cases);
  return differ == 0 ? 0 : 1;
}

int golden() {
  cudaDeviceProp p{};
  gpu::check(cudaGetDeviceProperties(&p, 0), "the GPU's properties");
  std::printf(
      "// Made by `ptx_wgmma_gpu golden`: a hash of what an %s, compute capability %d.%d, gives for each case.\n",
      p.name, p.major, p.minor);
  for (const WgmmaCase& what : wgmma_cases())
    std::printf("FP_PTX_WGMMA(\"%s\", 0x%016llx)\n", name_of(what).c_str(),
                static_cast<unsigned long long>(measure(what)));
  return 0;
}

}  // namespace
}  // namespace flashproof::ptx::golden

int main(int argc, char** argv) {
  const std::string verb = argc == 2 ? argv[1] : "";
  try {
    if (verb == "check") return flashproof::ptx::golden::check();
    if (verb == "golden") return flashproof::ptx::golden::golden();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  std::fprintf(stderr, "usage: ptx_wgmma_gpu check|golden\n");
  return 2;
}
