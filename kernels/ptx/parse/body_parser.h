// Declarations and bodies, for parser.cc.
#pragma once

#include "kernels/ptx/parse/token_reader.h"

namespace flashproof::ptx {

std::int64_t align_up(std::int64_t value, std::int64_t align);

/// Behind ".shared" and the like, over the ';'.
std::vector<Variable> parse_variables(TokenReader& reader, Space space);

/// Behind the '(', over the ')': appended, with their offsets. The bytes of all.
std::int64_t parse_parameters(TokenReader& reader, std::vector<Variable>& parameters);

/// Behind the '{', over the matching '}'. `instructions` counts those of the whole file.
void parse_body(TokenReader& reader, Entry& entry, std::size_t& instructions);

}  // namespace flashproof::ptx
