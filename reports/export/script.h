// The Python that goes with a reproduction: loads the file, has a place for the reader's kernel and the plain formula in it
// until then, and says which element is worst. NumPy alone, or PyTorch alone; it knows nothing of this project.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/problems.h"
#include "reports/export/reproduction.h"

namespace flashproof {

enum class Python : std::uint8_t { numpy, torch };

inline constexpr std::string_view kReproductionFile = "reproduction.safetensors";
inline constexpr std::string_view kScriptFile = "reproduce.py";

/// The function `kernel` of a script: its arguments and outputs, and its body as the formula of the problem, with the
/// features that the problem has and no other. The text says XP where the library's name belongs.
struct Formula {
  std::vector<std::string> arguments;
  std::vector<std::string> constants;  // lines above it
  std::string body;                    // lines, indented by 4
  std::string returns;
};
Formula formula_of(const Problem& problem);

/// `formats`: of every tensor in the file. `command`: what runs the case again where this project is installed.
std::string script_text(const Reproduction& reproduction, const Formula& formula, const std::vector<Format>& formats,
                        Python python, const std::string& command);

}  // namespace flashproof
