#include <fmt/format.h>

#include "kernels/special_functions/device.h"

namespace flashproof::special {

std::string describe(const Comparison& c) {
  std::string text = fmt::format("{} of {} differ", c.differ, c.inputs);
  if (c.differ > 0)
    text += fmt::format(", the first at 0x{:08x}: 0x{:08x}, the model 0x{:08x}", c.first, c.device, c.model);
  return text;
}

}  // namespace flashproof::special
