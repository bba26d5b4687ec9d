#include "kernels/run/run_cuda.h"
#include "reference/system/error.h"

namespace flashproof {

int cuda_devices(std::string* why) {
  if (why != nullptr) {
    *why = "this build has no CUDA side";
  }
  return 0;
}

void run_on_cuda(const Kernel&, const Problem&, const Tensor&, Output&) {
  throw InfrastructureError("executor cuda: this build has no CUDA side");
}

}  // namespace flashproof
