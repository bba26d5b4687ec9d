// Declarations and bodies, for parser.cc.
#pragma once

#include "kernels/ptx/parse/token_reader.h"

namespace flashproof::ptx {

std::int64_t align_up(std::int64_t value, std::int64_t align);

/// Behind ".shared" and the like, over the ';'.
std::vector<Variable> parse_variables(TokenReader& reader, Space space);

/// Behind the '(', over the ')': appended, with their offsets. The bytes of all.
std::int64_t parse_parameters(TokenReader& reader, std::vector<Variable>& parameters);

/// What the whole file has had so far.
struct FileSizes {
  std::size_t instructions = 0, registers = 0, variables = 0;
};
/// Throws UsageError beyond kMaxVariables.
void count_variable(TokenReader& reader, FileSizes& sizes);

/// Behind the '{', over the matching '}'.
void parse_body(TokenReader& reader, Entry& entry, FileSizes& sizes);

}  // namespace flashproof::ptx
