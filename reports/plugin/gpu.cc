#include "reports/plugin/gpu.h"

#include "kernels/plugin/device_driver.h"
#include "reference/system/child_process.h"
#include "reference/system/text.h"

namespace flashproof {

bool any_gpu_elsewhere(std::string* why) {
  constexpr ChildLimits kLimits{.seconds = 120, .bytes = 4096};  // a driver takes seconds to wake eight GPUs
  const ChildAnswer answer = ask_child(
      [] {
        std::string reason;
        const bool any = device::count(&reason) > 0;
        return any ? std::string() : reason.empty() ? "no reason given" : reason.substr(0, 500);
      },
      kLimits);
  *why =
      answer.answered() ? printable(answer.text, 500) : "the process that asked the CUDA driver " + answer.complaint();
  return why->empty();
}

}  // namespace flashproof
