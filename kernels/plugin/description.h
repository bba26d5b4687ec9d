// What a library says about its kernels, as text from outside, and what is made of it: declarations that every law and every
// report takes. The fields: README.md.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/plugin/capability.h"
#include "kernels/plugin/takes.h"
#include "kernels/registry.h"

namespace flashproof {

/// A kernel as the library's structures have it, nothing of it checked.
struct PluginEntry {
  std::string id;
  int problem = 0;
  int device_type = 0;
  std::string description;
  bool has_workspace = false;  // a function workspace_bytes
};

/// What takes() and limits() of a description come to: which problems are refused, and why.
struct Described {
  std::string id;
  ProblemKind problem = ProblemKind::softmax;
  bool on_device = false;
  Contract contract;
  std::vector<Format> formats;
  std::vector<Arithmetic> arithmetic;                     // of a forward problem, one for each format
  std::vector<std::vector<BackwardArithmetic>> backward;  // of a gradient, for each format: one of these
  std::size_t alignment = 1;                              // of the first element of each tensor, in bytes
  Refusal refusal;
  std::vector<Limit> limits;
  std::vector<const Capability*> declared;  // that a check must have tested
};

/// Throws UsageError with one line "kernel ID: FIELD ...: what is legal".
Described describe(const PluginEntry& entry);

}  // namespace flashproof
