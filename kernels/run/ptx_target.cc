#include "kernels/run/ptx_target.h"

#include "reference/system/error.h"

namespace flashproof {
namespace {

PtxTarget& (*ptx_target_of_thread)() = nullptr;

}  // namespace

void set_ptx_target(PtxTarget& (*target)()) { ptx_target_of_thread = target; }

PtxTarget& ptx_target() {
  if (ptx_target_of_thread == nullptr) throw InfrastructureError("--exec ptx: this program executes no PTX");
  return ptx_target_of_thread();
}

}  // namespace flashproof
