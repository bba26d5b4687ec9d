// The cases of findings as files, made simpler in processes that they may end.
#pragma once

#include <string>
#include <vector>

#include "reports/plugin/check.h"

namespace flashproof {

/// A file OUT/witnesses/LIBRARY/KERNEL.FORMAT.LAW.safetensors for every failure of the results; older ones of these kernels and laws
/// are removed. `library`: its file's name without the extension: other builds of a kernel keep theirs. Fills in the failures' witness and shrunk. Throws InfrastructureError.
void keep_witnesses(std::vector<PluginResult>& results, const std::string& library, const PluginCheck& options,
                    int jobs);

}  // namespace flashproof
