// Fuzz target: any bytes as a witness file. They are refused with UsageError, or they are a valid problem that can be
// written and read again without loss. Anything else – another exception, a sanitizer's report – is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "reference/problem/error.h"
#include "reference/problem/witness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flashproof;
  Witness witness;
  try {
    witness = parse_witness({reinterpret_cast<const std::byte*>(data), size}, "input");
  } catch (const UsageError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();  // one line is the promise
    return 0;
  }
  if (parse_witness(format_witness(witness), "again") != witness) std::abort();
  return 0;
}
