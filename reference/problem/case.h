// A case is a recipe or data. The recipe is one printable line
//     problem:family:seed[:key=value,key=value,...]      e.g.  attention:staircase:7:format=f16,sq=33,chunk=16
// and a counter-based generator, so that it means the same bits on every machine; data is a .safetensors witness.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof {

struct CaseSpec {
  ProblemKind problem = ProblemKind::softmax;
  std::string family;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> keys;  // sorted, so that equal specs print equally

  bool operator==(const CaseSpec&) const = default;
};

/// problem is softmax, merge, attention or attention_backward; family and key are names ([a-z][a-z0-9_]*, at most 64 characters); seed is
/// decimal, 0..2^64−1; value is 1..256 characters of [A-Za-z0-9_.+/-]. No key twice, no spaces, at most 4096
/// characters: the line needs no quoting in a shell. Throws UsageError on anything that is not the grammar above. Does
/// not know which families or keys exist.
CaseSpec parse_case_spec(std::string_view line);
std::string to_string(const CaseSpec& spec);

struct Case {
  CaseSpec spec;  // where it came from; a witness keeps the line of the case it was written from
  Problem problem;

  bool operator==(const Case&) const = default;
};

}  // namespace flashproof
