// What every launch asks of the workspace that it was given.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/args.h"
#include "reference/system/error.h"

namespace flashproof {

inline void require_workspace(const Workspace& workspace, std::int64_t bytes) {
  if (workspace.bytes < bytes) {
    throw UsageError("workspace: " + std::to_string(workspace.bytes) + " bytes, this problem needs " +
                     std::to_string(bytes));
  }
}

}  // namespace flashproof
