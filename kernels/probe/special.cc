// What the approximate instructions of a GPU have to do with their model, in words.
#include <fmt/format.h>

#include "kernels/probe/probe.h"

namespace flashproof::probe {

std::string special_table(const Gpu& gpu, const std::vector<SpecialVerdict>& verdicts) {
  const bool modelled = special::tables_of(gpu.compute_capability) != nullptr;
  std::string out = "\n## Approximate instructions against the model of kernels/special_functions\n\n";
  out += modelled ? fmt::format(
                        "Tables of compute capability {}. Where none differs, `--math native` has this GPU's bits "
                        "on the CPU executor.\n",
                        gpu.compute_capability)
                  : fmt::format(
                        "There are no tables of compute capability {}: nothing is claimed of `--math native` on "
                        "the CPU executor and this GPU. Compared with those of {}.\n",
                        gpu.compute_capability, special::kModelled);
  out += "\n| instruction | inputs | differ | first that differs | this GPU | model |\n|---|--:|--:|---|---|---|\n";
  for (const auto& [instruction, c] : verdicts) {
    out += fmt::format("| `{}` | {} | {} |", instruction, c.inputs, c.differ);
    out += c.differ == 0 ? " – | – | – |\n"
                         : fmt::format(" 0x{:08x} | 0x{:08x} | 0x{:08x} |\n", c.first, c.device, c.model);
  }
  return out;
}

std::vector<std::string> special_complaints(const Gpu& gpu, const std::vector<SpecialVerdict>& verdicts) {
  std::vector<std::string> complaints;
  if (special::tables_of(gpu.compute_capability) == nullptr) return complaints;
  for (const auto& [instruction, comparison] : verdicts) {
    if (comparison.differ > 0) {
      complaints.push_back(fmt::format("{}: not the model's: {}", instruction, special::describe(comparison)));
    }
  }
  return complaints;
}

}  // namespace flashproof::probe
