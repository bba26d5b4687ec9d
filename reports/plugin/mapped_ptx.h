// ./flashproof check MY.ptx --map MY.toml, or MY.cu: a compiled kernel and its map (kernels/ptx/README.md) in place of a library.
#pragma once

#include <filesystem>

#include "kernels/plugin/load.h"

namespace flashproof {

/// What the PTX becomes is made here, once: processes that run it are forked from this one, and begin with it as it is. Throws UsageError for
/// a wrong file of either kind, InfrastructureError without libLLVM.
PluginSource mapped_ptx(const std::filesystem::path& ptx, const std::filesystem::path& map);

}  // namespace flashproof
