#include "kernels/ptx/translate/llvm.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

void* open_library() {
  for (const char* name : {"libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  throw InfrastructureError(
      "PTX is executed through LLVM 19, and libLLVM.so.19.1 is not installed (Debian: apt-get install libllvm19)");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* address = dlsym(library, name);
  if (address == nullptr) throw InfrastructureError(fmt::format("libLLVM.so.19.1 has no {}", name));
  function = reinterpret_cast<Function>(address);
}

Llvm load() {
  void* library = open_library();
  Llvm f{};
#define FIND(name) find(library, "LLVM" #name, f.name)
  FIND(GetVersion);
  FIND(ContextCreate);
  FIND(ContextDispose);
  FIND(CreateMemoryBufferWithMemoryRangeCopy);
  FIND(GetBufferStart);
  FIND(GetBufferSize);
  FIND(DisposeMemoryBuffer);
  FIND(ParseIRInContext);
  FIND(DisposeModule);
  FIND(DisposeMessage);
  FIND(GetDefaultTargetTriple);
  FIND(GetHostCPUName);
  FIND(GetHostCPUFeatures);
  FIND(GetTargetFromTriple);
  FIND(CreateTargetMachine);
  FIND(DisposeTargetMachine);
  FIND(SetTarget);
  FIND(CreateTargetDataLayout);
  FIND(SetModuleDataLayout);
  FIND(DisposeTargetData);
  FIND(CreatePassBuilderOptions);
  FIND(DisposePassBuilderOptions);
  FIND(RunPasses);
  FIND(TargetMachineEmitToMemoryBuffer);
  FIND(GetErrorMessage);
  FIND(DisposeErrorMessage);
  FIND(OrcCreateLLJIT);
  FIND(OrcDisposeLLJIT);
  FIND(OrcLLJITGetMainJITDylib);
  FIND(OrcLLJITMangleAndIntern);
  FIND(OrcAbsoluteSymbols);
  FIND(OrcJITDylibDefine);
  FIND(OrcLLJITAddObjectFile);
  FIND(OrcLLJITLookup);
#undef FIND
#if defined(__x86_64__)
#define TARGET "X86"
#elif defined(__aarch64__)
#define TARGET "AArch64"
#else
#error "no LLVM target is named for this processor"
#endif
  for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"}) {
    void (*initialise)();
    find(library, fmt::format("LLVMInitialize{}{}", TARGET, part).c_str(), initialise);
    initialise();
  }
#undef TARGET
  return f;
}

}  // namespace

const Llvm& llvm() {
  static const Llvm loaded = load();
  return loaded;
}

}  // namespace flashproof::ptx
