// Backward problems as lines and as files, beside those of case.h and witness.h. The line is the attention case's under
// another name,
//     attention_backward:family:seed[:key=value,...]      e.g. attention_backward:staircase:7:format=f16,mode=stage
// and the file has the attention problem's fields, d_out, o, lse and mode.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/backward.h"
#include "reference/problem/case.h"
#include "reference/problem/witness.h"

namespace flashproof {

/// The line of a spec whose problem is attention; CaseSpec has no kind for this one.
std::string backward_line(const CaseSpec& spec);
/// Does the text begin as such a line does?
bool is_backward_line(std::string_view text);
/// Throws UsageError as parse_case_spec() does.
CaseSpec parse_backward_line(std::string_view line);

struct BackwardCase {
  CaseSpec spec;  // of the forward problem
  BackwardProblem problem;

  bool operator==(const BackwardCase&) const = default;
};

struct BackwardWitness {
  BackwardCase content;
  WitnessNotes notes;

  bool operator==(const BackwardWitness&) const = default;
};

/// As format_witness(), write_witness() and parse_witness().
std::vector<std::byte> format_backward_witness(const BackwardWitness& witness);
void write_backward_witness(const std::filesystem::path& path, const BackwardWitness& witness);
BackwardWitness parse_backward_witness(std::span<const std::byte> bytes, const std::string& name);
/// Does the file say that it holds one? False for a malformed file: the parser says what is wrong with it.
bool is_backward_witness(std::span<const std::byte> bytes);

}  // namespace flashproof
