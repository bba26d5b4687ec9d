// Places in the program: return addresses as 32-bit offsets, and what source line they stand for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flashproof::simt {

/// A return address, relative to a place of this program.
using CodeOffset = std::int32_t;
CodeOffset place_of(const void* pc);

class Places {
 public:
  /// "kernels/softmax/online_block.h:85": of the functions inlined there the innermost that is not the executor's own
  /// or the library's. Without debug information, or without libbacktrace, an address.
  const std::string& name(CodeOffset place);

 private:
  std::map<CodeOffset, std::string> names_;
};

}  // namespace flashproof::simt
