// A CUDA source in the place of a .ptx: nvcc makes the PTX, which is kept beside the compiled objects (run/object_cache.h).
#pragma once

#include <string>
#include <vector>

#include "kernels/ptx/parse/module.h"
#include "kernels/ptx/run/program.h"

namespace flashproof::ptx {

/// Whether the path ends in ".cu".
bool is_cuda_source(const std::string& path);

/// The module of a .ptx, or of a .cu: its PTX as nvcc makes it for FLASHPROOF_CUDA_ARCHITECTURES (the first of them; else sm_80), with
/// -lineinfo and what NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS say; from the cache where source, headers, nvcc and flags are those of before.
/// `flags` are nvcc's, as words. What nvcc says goes to stderr. Throws UsageError for a source that it refuses, InfrastructureError
/// without nvcc.
Module read_module(const std::string& path, const ProgramOptions& options = {},
                   const std::vector<std::string>& flags = {});

/// Why no source can be compiled here: there is no nvcc. Empty: there is one.
std::string without_nvcc();

}  // namespace flashproof::ptx
