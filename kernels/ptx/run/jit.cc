#include "kernels/ptx/run/jit.h"

#include <fmt/format.h>

#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/llvm.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

// Of llvm-c/TargetMachine.h.
constexpr int kLevel = 1, kPositionIndependent = 2, kDefaultCodeModel = 0, kObjectFile = 1;

[[noreturn]] void fail(const char* what, const std::string& why) {
  throw InfrastructureError(fmt::format("LLVM: {}: {}", what, why));
}

void check(const char* what, LlvmError error) {
  if (error == nullptr) return;
  char* message = llvm().GetErrorMessage(error);
  const std::string text = message;
  llvm().DisposeErrorMessage(message);
  fail(what, text);
}

std::string taken(char* message) {
  const std::string text = message == nullptr ? "" : message;
  llvm().DisposeMessage(message);
  return text;
}

/// Owns one of LLVM's objects.
using Owned = std::unique_ptr<LlvmObject, void (*)(LlvmRef)>;

Owned target_machine(std::string& triple) {
  const Llvm& f = llvm();
  triple = taken(f.GetDefaultTargetTriple());
  LlvmRef target = nullptr;
  char* message = nullptr;
  if (f.GetTargetFromTriple(triple.c_str(), &target, &message) != 0) fail("this machine is no target", taken(message));
  const std::string cpu = taken(f.GetHostCPUName()), features = taken(f.GetHostCPUFeatures());
  return {f.CreateTargetMachine(target, triple.c_str(), cpu.c_str(), features.c_str(), kLevel, kPositionIndependent,
                                kDefaultCodeModel),
          f.DisposeTargetMachine};
}

}  // namespace

std::string machine_name() {
  const Llvm& f = llvm();
  unsigned major = 0, minor = 0, patch = 0;
  f.GetVersion(&major, &minor, &patch);
  return fmt::format("{} {} llvm {}.{}.{}", taken(f.GetHostCPUName()), taken(f.GetHostCPUFeatures()), major, minor,
                     patch);
}

std::vector<char> compile(const std::string& ir) {
  const Llvm& f = llvm();
  const Owned context(f.ContextCreate(), f.ContextDispose);
  LlvmRef parsed = nullptr;
  char* message = nullptr;
  LlvmRef text = f.CreateMemoryBufferWithMemoryRangeCopy(ir.data(), ir.size(), "ptx");
  if (f.ParseIRInContext(context.get(), text, &parsed, &message) != 0)
    fail("the translation of the PTX is no IR", taken(message));
  const Owned module(parsed, f.DisposeModule);
  std::string triple;
  const Owned machine = target_machine(triple);
  f.SetTarget(module.get(), triple.c_str());
  const Owned layout(f.CreateTargetDataLayout(machine.get()), f.DisposeTargetData);
  f.SetModuleDataLayout(module.get(), layout.get());
  const Owned options(f.CreatePassBuilderOptions(), f.DisposePassBuilderOptions);
  check("passes", f.RunPasses(module.get(), "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)",
                              machine.get(), options.get()));
  LlvmRef object = nullptr;
  if (f.TargetMachineEmitToMemoryBuffer(machine.get(), module.get(), kObjectFile, &message, &object) != 0)
    fail("no object", taken(message));
  const Owned owned(object, f.DisposeMemoryBuffer);
  return {f.GetBufferStart(object), f.GetBufferStart(object) + f.GetBufferSize(object)};
}

struct LoadedCode::Jit {
  LlvmRef ref = nullptr;
  ~Jit() {
    if (ref == nullptr) return;
    if (LlvmError error = llvm().OrcDisposeLLJIT(ref)) llvm().DisposeErrorMessage(llvm().GetErrorMessage(error));
  }
};

LoadedCode::LoadedCode(const std::vector<char>& object) : jit_(std::make_unique<Jit>()) {
  const Llvm& f = llvm();
  check("no compiler in process", f.OrcCreateLLJIT(&jit_->ref, nullptr));
  LlvmRef dylib = f.OrcLLJITGetMainJITDylib(jit_->ref);
  std::vector<OrcSymbolMapPair> pairs;
  for (const RuntimeSymbol& symbol : runtime_symbols()) {
    constexpr std::uint8_t kExportedCallable = 5;
    pairs.push_back({f.OrcLLJITMangleAndIntern(jit_->ref, symbol.name),
                     {reinterpret_cast<OrcAddress>(symbol.address), {kExportedCallable, 0}}});
  }
  check("runtime", f.OrcJITDylibDefine(dylib, f.OrcAbsoluteSymbols(pairs.data(), pairs.size())));
  check("object", f.OrcLLJITAddObjectFile(
                      jit_->ref, dylib, f.CreateMemoryBufferWithMemoryRangeCopy(object.data(), object.size(), "ptx")));
  OrcAddress address = 0;
  check("link", f.OrcLLJITLookup(jit_->ref, &address, "blocks"));
  blocks_ =
      reinterpret_cast<const BlockFunction*>(address);  // NOLINT(performance-no-int-to-ptr): ORC gives addresses so
}

LoadedCode::~LoadedCode() = default;

}  // namespace flashproof::ptx
