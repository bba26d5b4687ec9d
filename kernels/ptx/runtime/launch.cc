#include "kernels/ptx/runtime/launch.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/run/tensor_map.h"
#include "kernels/ptx/runtime/schedules.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"

namespace flashproof::cudart {
namespace {

/// The parameters' bytes, at an address that a tensor map among them may have.
class Parameters {
 public:
  Parameters(const ptx::Entry& entry, void** arguments) : bytes_(static_cast<std::size_t>(entry.parameter_bytes)) {
    room_.resize(bytes_ + ptx::kMapAlign);
    std::size_t room = room_.size();
    void* aligned = room_.data();
    data_ = static_cast<std::byte*>(std::align(ptx::kMapAlign, bytes_, aligned, room));
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const ptx::Variable& one = entry.parameters[i];
      if (arguments == nullptr || arguments[i] == nullptr)
        throw Refused(invalid_value, fmt::format("argument {} of {} is a null pointer", i + 1, entry.name));
      std::memcpy(data_ + one.offset, arguments[i], static_cast<std::size_t>(one.bytes()));
    }
  }
  std::span<const std::byte> bytes() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  std::vector<std::byte> room_;
  std::byte* data_ = nullptr;
};

Status status_of(ptx::FindingKind kind) {
  switch (kind) {
    case ptx::FindingKind::address:
      return illegal_address;
    case ptx::FindingKind::alignment:
      return misaligned_address;
    case ptx::FindingKind::assertion:
      return assertion;
    default:
      return launch_failure;
  }
}

/// The line of the text, without what indents it.
std::string line_of(const std::string& text, int number) {
  std::size_t begin = 0;
  for (int line = 1; line < number && begin != std::string::npos; ++line) {
    begin = text.find('\n', begin);
    begin += begin != std::string::npos ? 1 : 0;
  }
  if (begin == std::string::npos) return "";
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  const std::size_t word = line.find_first_not_of(" \t");
  return word == std::string::npos ? "" : ptx::shown(line.substr(word));
}

/// Parameters that are addresses of the program's own memory: the mistake behind most bad addresses.
std::string host_arguments(const Device& device, const ptx::Entry& entry, std::span<const std::byte> parameters) {
  std::string text;
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const ptx::Variable& one = entry.parameters[i];
    if (one.bytes() != 8) continue;
    std::uint64_t address = 0;
    std::memcpy(&address, parameters.data() + one.offset, sizeof address);
    if (address < 65536) continue;  // a number, or null
    if (const std::string words = device.memory.words(address); !words.empty())
      text += fmt::format("  argument {} is {:#x}: {}\n", i + 1, address, words);
  }
  return text;
}

std::string size(const ptx::Dim& dim) { return fmt::format("{}, {}, {}", dim.x, dim.y, dim.z); }

void report(Device& device, const LaunchRequest& request, const Kernel& kernel, const ptx::LaunchResult& result,
            std::span<const std::byte> parameters) {
  std::string text = fmt::format("flashproof: {} <<<({}), ({}), {}>>>: {}\n", demangled(kernel.entry),
                                 size(request.grid), size(request.block), request.shared,
                                 result.completed ? "ended, with findings" : "was ended by a finding");
  for (const ptx::Finding& finding : result.findings)
    text += fmt::format("  {}\n      {}\n", finding.text, line_of(kernel.binary->text, finding.line));
  text += host_arguments(device, kernel.program->entry(), parameters);
  // What ended the launch comes last, and says which error it is.
  const Status status = status_of(result.findings.back().kind);
  text += fmt::format("  every call returns {} ({}) from here on\n", name_of(status), static_cast<int>(status));
  std::fputs(text.c_str(), stderr);
  device.broken = status;
  if (device.settings.exits) {
    std::fflush(nullptr);
    std::_Exit(kExitFinding);
  }
}

}  // namespace

std::string demangled(const std::string& entry) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      __cxxabiv1::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : entry;
}

void launch(Device& device, const LaunchRequest& request) {
  device.streams.stream(request.stream);
  Kernel& kernel = device.modules.kernel(request.kernel);
  const std::uint32_t most = kernel.most_dynamic_shared();
  if (request.shared > most) {
    throw Refused(invalid_value, fmt::format("{} of {} bytes of dynamic shared memory, legal: 0 to {} "
                                             "(cudaFuncAttributeMaxDynamicSharedMemorySize)",
                                             demangled(kernel.entry), request.shared, most));
  }
  const Parameters parameters(kernel.program->entry(), request.arguments);
  const std::vector<ptx::Array> arrays = device.memory.arrays();
  ptx::Launch wanted{request.grid,       request.block, static_cast<std::uint32_t>(request.shared),
                     parameters.bytes(), arrays,        device.settings.max_instructions};
  wanted.finds_races = device.settings.races;
  wanted.foreign = [&](std::uint64_t address) { return device.memory.words(address); };
  ptx::LaunchResult result;
  try {
    const Opened opened(device.memory);
    result = run_in_order(*kernel.program, wanted, device.settings.order);
  } catch (const UsageError& error) {
    throw Refused(invalid_configuration, error.what());
  }
  std::fwrite(result.printed.data(), 1, result.printed.size(), stdout);
  if (!result.findings.empty()) report(device, request, kernel, result, parameters.bytes());
}

}  // namespace flashproof::cudart
