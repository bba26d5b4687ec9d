// The C interface of LLVM, as much as is used here, out of libLLVM, which is loaded on first use: a build needs no header and no
// program grows by it. Debian 12: package libllvm19 (26 MB to fetch).
#pragma once

#include <cstddef>
#include <cstdint>

namespace flashproof::ptx {

/// Opaque, as in llvm-c/Types.h.
struct LlvmObject;
using LlvmRef = LlvmObject*;
using LlvmError = LlvmObject*;
using OrcAddress = std::uint64_t;

struct OrcSymbolFlags {
  std::uint8_t generic, target;
};
struct OrcEvaluatedSymbol {
  OrcAddress address;
  OrcSymbolFlags flags;
};
struct OrcSymbolMapPair {
  LlvmRef name;
  OrcEvaluatedSymbol symbol;
};

/// Functions of libLLVM by their names there, without "LLVM".
// NOLINTBEGIN(readability-identifier-naming): named as LLVM names its functions.
struct Llvm {
  void (*GetVersion)(unsigned*, unsigned*, unsigned*);
  LlvmRef (*ContextCreate)();
  void (*ContextDispose)(LlvmRef);
  LlvmRef (*CreateMemoryBufferWithMemoryRangeCopy)(const char*, std::size_t, const char*);
  const char* (*GetBufferStart)(LlvmRef);
  std::size_t (*GetBufferSize)(LlvmRef);
  void (*DisposeMemoryBuffer)(LlvmRef);
  int (*ParseIRInContext)(LlvmRef context, LlvmRef buffer, LlvmRef* module, char** message);
  void (*DisposeModule)(LlvmRef);
  void (*DisposeMessage)(char*);
  char* (*GetDefaultTargetTriple)();
  char* (*GetHostCPUName)();
  char* (*GetHostCPUFeatures)();
  int (*GetTargetFromTriple)(const char*, LlvmRef*, char**);
  LlvmRef (*CreateTargetMachine)(LlvmRef target, const char* triple, const char* cpu, const char* features, int level,
                                 int reloc, int code_model);
  void (*DisposeTargetMachine)(LlvmRef);
  void (*SetTarget)(LlvmRef module, const char* triple);
  LlvmRef (*CreateTargetDataLayout)(LlvmRef machine);
  void (*SetModuleDataLayout)(LlvmRef module, LlvmRef layout);
  void (*DisposeTargetData)(LlvmRef);
  LlvmRef (*CreatePassBuilderOptions)();
  void (*DisposePassBuilderOptions)(LlvmRef);
  LlvmError (*RunPasses)(LlvmRef module, const char* passes, LlvmRef machine, LlvmRef options);
  int (*TargetMachineEmitToMemoryBuffer)(LlvmRef machine, LlvmRef module, int file_type, char** message,
                                         LlvmRef* buffer);
  char* (*GetErrorMessage)(LlvmError);
  void (*DisposeErrorMessage)(char*);
  LlvmError (*OrcCreateLLJIT)(LlvmRef* jit, LlvmRef builder);
  LlvmError (*OrcDisposeLLJIT)(LlvmRef);
  LlvmRef (*OrcLLJITGetMainJITDylib)(LlvmRef);
  LlvmRef (*OrcLLJITMangleAndIntern)(LlvmRef, const char*);
  LlvmRef (*OrcAbsoluteSymbols)(OrcSymbolMapPair*, std::size_t);
  LlvmError (*OrcJITDylibDefine)(LlvmRef dylib, LlvmRef unit);
  LlvmError (*OrcLLJITAddObjectFile)(LlvmRef jit, LlvmRef dylib, LlvmRef buffer);
  LlvmError (*OrcLLJITLookup)(LlvmRef jit, OrcAddress* result, const char* name);
};
// NOLINTEND(readability-identifier-naming)

/// Loaded and initialised for this machine's processor. Throws InfrastructureError that names the package where it is missing.
const Llvm& llvm();

}  // namespace flashproof::ptx
