// LLVM IR -> machine code in this process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

/// What machine code is made for and by: processor, its features, LLVM's version. Part of a cached object's name.
std::string machine_name();

/// An object file in memory. Throws InfrastructureError with LLVM's message.
std::vector<char> compile(const std::string& ir);

/// Code of an object, for as long as it lives.
class LoadedCode {
 public:
  /// Nothing in it can call but the runtime's functions (runtime.h). Throws InfrastructureError.
  explicit LoadedCode(const std::vector<char>& object);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;
  const BlockFunction* blocks() const { return blocks_; }

 private:
  struct Jit;
  std::unique_ptr<Jit> jit_;
  const BlockFunction* blocks_ = nullptr;
};

}  // namespace flashproof::ptx
