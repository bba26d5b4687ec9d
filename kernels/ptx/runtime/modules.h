// What the program's objects have registered: a fat binary each, its kernels by the address of their host stubs, its variables by the
// address of their shadows. Nothing is read before the first kernel or variable of a binary is asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/ptx/run/program.h"
#include "kernels/ptx/runtime/memory.h"

namespace flashproof::cudart {

/// A variable that the host sees, too: where its pointer to the memory stands.
struct Managed {
  void** pointer;
  std::string name;
};

/// The fat binary of one object.
struct Binary {
  const void* container = nullptr;
  std::string file;  // as findings name it: "program.1.ptx"
  std::optional<std::string> refusal;
  std::string text;
  std::unique_ptr<ptx::Module> module;
  std::shared_ptr<ptx::ModuleVariables> variables;
  std::vector<Managed> managed;
};

struct Kernel {
  Binary* binary = nullptr;
  std::string entry;
  std::unique_ptr<ptx::Program> program;        // when it is needed first
  std::optional<std::uint32_t> dynamic_shared;  // cudaFuncAttributeMaxDynamicSharedMemorySize
  /// Bytes of dynamic shared memory that a launch may have: what is left of 48 KiB, or the attribute.
  std::uint32_t most_dynamic_shared() const;
};

struct Symbol {
  Binary* binary = nullptr;
  std::string name;
};

class Modules {
 public:
  Modules(Memory& memory, std::uint32_t capability) : memory_(memory), capability_(capability) {}

  /// `wrapper`: what __cudaRegisterFatBinary gets, two numbers (0x466243b1, the version) and the container's address.
  Binary* add(const void* wrapper);
  void remove(Binary* binary);
  void add_kernel(Binary* binary, const void* host, const char* entry) {
    kernels_[host] = {binary, entry, nullptr, {}};
  }
  void add_symbol(Binary* binary, const void* host, const char* name) { symbols_[host] = {binary, name}; }

  /// Read and compiled. Throws Refused: no such kernel, no PTX, an instruction that is not known here.
  Kernel& kernel(const void* host);
  /// Where the variable lies. Throws Refused.
  const ptx::Array& symbol(const void* host);
  /// Reads the binary; its managed variables get their addresses. Throws Refused.
  void load(Binary& binary);

 private:
  Memory& memory_;
  std::uint32_t capability_;
  std::vector<std::unique_ptr<Binary>> binaries_;
  std::map<const void*, Kernel> kernels_;
  std::map<const void*, Symbol> symbols_;
  int number_ = 0;
};

}  // namespace flashproof::cudart
