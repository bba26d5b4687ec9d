// The cases of findings as files, made simpler in processes that they may end.
#pragma once

#include <vector>

#include "reports/plugin/check.h"

namespace flashproof {

/// A file OUT/witnesses/KERNEL.FORMAT.LAW.safetensors for every failure of the results; older ones of these kernels and laws
/// are removed. Fills in the failures' witness and shrunk. Throws InfrastructureError.
void keep_witnesses(std::vector<PluginResult>& results, const PluginCheck& options, int jobs);

}  // namespace flashproof
