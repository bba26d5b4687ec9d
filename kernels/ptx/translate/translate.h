// An entry -> LLVM IR text and what a launch must know about it. No LLVM is needed for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/run/code.h"

namespace flashproof::ptx {

struct Translation {
  std::string ir;  // defines @blocks, a table of BlockFunction in the order of `flow.blocks`
  Flow flow;
  Layout layout;
  std::vector<int> targets;  // of each block, or -1
  std::string file;
  std::vector<std::pair<int, std::string>> sources;  // .file

  /// "FILE:LINE", and behind it " (SOURCE:LINE)" where .loc, as nvcc -lineinfo writes it, says it.
  std::string place(int line) const;
};

/// Throws UsageError "FILE:LINE: what" for the first thing in the entry that cannot be executed here.
Translation translate(const Module& module, const Entry& entry);

/// The name of an entry as its source has it, "scale<float, 64>" of a mangled one, without parameters.
std::string source_name(const std::string& name);

/// By its name in the PTX, or by source_name() where one entry has it. Throws UsageError that names the entries there are. An empty name: the only one.
const Entry& find_entry(const Module& module, std::string_view name);

}  // namespace flashproof::ptx
