#include "kernels/ptx/runtime/modules.h"

#include <errno.h>  // program_invocation_short_name
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/runtime/fatbin.h"
#include "kernels/ptx/runtime/status.h"
#include "reference/system/error.h"

namespace flashproof::cudart {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kSharedWithoutAttribute = 48 << 10;  // CUDA C++ Programming Guide, "Shared Memory"

struct Wrapper {
  std::uint32_t magic, version;
  const void* container;
  const void* more;
};

const ptx::Array* variable_of(const Binary& binary, const std::string& name) {
  const auto found = std::ranges::find(binary.variables->arrays, name, &ptx::Array::name);
  return found == binary.variables->arrays.end() ? nullptr : &*found;
}

}  // namespace

std::uint32_t Kernel::most_dynamic_shared() const {
  const auto own = static_cast<std::uint32_t>(program->layout().static_shared_bytes);
  return dynamic_shared.value_or(own < kSharedWithoutAttribute ? kSharedWithoutAttribute - own : 0);
}

Binary* Modules::add(const void* wrapper) {
  Wrapper given{};
  std::memcpy(&given, wrapper, sizeof given);
  Binary& binary = *binaries_.emplace_back(std::make_unique<Binary>());
  binary.file = fmt::format("{}.{}.ptx", program_invocation_short_name, ++number_);
  binary.container = given.container;
  if (given.magic != kWrapperMagic) binary.refusal = "this is no fat binary of nvcc: its wrapper's first bytes differ";
  if (given.version != 1) binary.refusal = "device code that nvcc has linked (-rdc=true) has no PTX: compile without";
  return &binary;
}

void Modules::remove(Binary* binary) {
  std::erase_if(kernels_, [&](const auto& one) { return one.second.binary == binary; });
  std::erase_if(symbols_, [&](const auto& one) { return one.second.binary == binary; });
  if (binary->variables) {
    for (const ptx::Array& array : binary->variables->arrays) memory_.forget(array.data);
  }
  std::erase_if(binaries_, [&](const auto& one) { return one.get() == binary; });
}

void Modules::load(Binary& binary) {
  if (binary.module) return;
  if (!binary.refusal) {
    try {
      binary.text = ptx_of(container_at(binary.container), capability_);
    } catch (const UsageError& error) {
      binary.refusal = error.what();
    }
  }
  if (binary.refusal) throw Refused(no_kernel_image, *binary.refusal);
  binary.module = std::make_unique<ptx::Module>(ptx::parse(binary.file, binary.text));
  binary.variables = std::make_shared<ptx::ModuleVariables>(*binary.module);
  for (const ptx::Array& array : binary.variables->arrays)
    memory_.add(array.data, array.bytes, Place::variable, array.writable, array.name);
  for (const Managed& one : binary.managed) {
    if (const ptx::Array* array = variable_of(binary, one.name); array != nullptr) *one.pointer = array->data;
  }
}

Kernel& Modules::kernel(const void* host) {
  const auto found = kernels_.find(host);
  if (found == kernels_.end()) throw Refused(invalid_device_function, fmt::format("{} is no kernel", host));
  Kernel& kernel = found->second;
  if (kernel.program) return kernel;
  load(*kernel.binary);
  try {
    kernel.program = std::make_unique<ptx::Program>(*kernel.binary->module, kernel.entry, ptx::ProgramOptions{},
                                                    kernel.binary->variables);
  } catch (const UsageError& error) {
    throw Refused(not_supported, error.what());
  } catch (const InfrastructureError& error) {
    throw Refused(jit_compiler_not_found, error.what());
  }
  return kernel;
}

const ptx::Array& Modules::symbol(const void* host) {
  const auto found = symbols_.find(host);
  if (found == symbols_.end()) throw Refused(invalid_symbol, fmt::format("{} is no variable of the device", host));
  load(*found->second.binary);
  const ptx::Array* array = variable_of(*found->second.binary, found->second.name);
  if (array == nullptr) {
    throw Refused(invalid_symbol, fmt::format("{}: no variable '{}', which no kernel uses", found->second.binary->file,
                                              found->second.name));
  }
  return *array;
}

}  // namespace flashproof::cudart
