#include "kernels/ptx/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/ptx/parse/forms.h"
#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/translate.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

std::string type_text(const Variable& variable) {
  const std::string name = fmt::format("{}{}", variable.type.kind, variable.type.bits);
  return variable.count == 1 ? name : fmt::format("{}[{}]", name, variable.count);
}

std::string parameters(const Entry& entry) {
  std::string text;
  for (const Variable& parameter : entry.parameters)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", type_text(parameter));
  return text.empty() ? "none" : fmt::format("{} ({} bytes)", text, entry.parameter_bytes);
}

/// mul and add of floats without a rounding modifier: ptxas may make one fma of them, this executor does not.
std::size_t open_roundings(const Entry& entry) {
  static constexpr const char* kOpen = "{add,sub,mul}{,.ftz}.{f64,f32,f16,f16x2,bf16,bf16x2}";
  return static_cast<std::size_t>(std::ranges::count_if(
      entry.instructions, [](const Instruction& instruction) { return matches(kOpen, instruction.form); }));
}

std::string launch_text(const Entry& entry, const Translation& made, const Module& module) {
  std::string text;
  if (entry.required_threads[0] != 0) {
    text += fmt::format("  block       {} x {} x {}, wanted\n", entry.required_threads[0], entry.required_threads[1],
                        entry.required_threads[2]);
  } else if (entry.max_threads != 0) {
    text += fmt::format("  block       at most {} threads\n", entry.max_threads);
  }
  bool dynamic = false;
  for (const Variable& variable : module.variables) dynamic |= variable.space == Space::shared && variable.count == 0;
  if (made.layout.static_shared_bytes != 0 || dynamic) {
    text += fmt::format("  shared      {} bytes{}\n", made.layout.static_shared_bytes,
                        dynamic ? ", and what the launch gives" : "");
  }
  if (made.layout.local_bytes != 0)
    text += fmt::format("  local       {} bytes of a thread\n", made.layout.local_bytes);
  return text;
}

std::string entry_text(const Module& module, const Entry& entry) {
  std::set<std::string> forms;
  for (const Instruction& instruction : entry.instructions) forms.insert(instruction.form);
  std::string text = fmt::format("entry {}\n", shown(entry.name));
  if (const std::string name = source_name(entry.name); name != entry.name)
    text += fmt::format("  C++         {}\n", shown(name));
  text += fmt::format("  parameters  {}\n", parameters(entry));
  const std::string code = fmt::format("{} instructions of {} forms", entry.instructions.size(), forms.size());
  try {
    if (const std::vector<std::string> missing = unsupported(module, entry); !missing.empty()) {
      text +=
          fmt::format("  code        {}\n  executable  no: {} instructions are not known here\n", code, missing.size());
      for (const std::string& line : missing) text += "    " + line + "\n";
      return text;
    }
    const Translation made = translate(module, entry);
    text +=
        launch_text(entry, made, module) + fmt::format("  code        {}, {} blocks\n", code, made.flow.blocks.size());
    if (const std::size_t open = open_roundings(entry); open != 0) {
      text += fmt::format(
          "  rounding    {} additions and products without .rn, which ptxas may contract: bits may differ from a "
          "GPU's\n",
          open);
    }
    text += "  executable  yes\n";
  } catch (const UsageError& error) {
    text += fmt::format("  code        {}\n  executable  no: {}\n", code, error.what());
  }
  return text;
}

}  // namespace

std::string listing(const Module& module) {
  std::string text = fmt::format("{}: PTX {} for {}\n", module.file, module.version, module.target);
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared) continue;
    text += fmt::format("{} {} {}\n", variable.space == Space::global ? "variable" : "constant", type_text(variable),
                        shown(variable.name));
  }
  for (const Entry& entry : module.entries) {
    if (!entry.is_function) text += entry_text(module, entry);
  }
  return text;
}

}  // namespace flashproof::ptx
