// A golden form: an instruction in PTX, the class of its inputs, and a hash of what a GPU gave for all of them. The list is
// forms_sm_90.inc; the same text runs on the GPU (device_main.cu) and in the executor (golden_test.cc).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ptx/test/golden/inputs.h"

/// The text has operands h1, w1, d1 (16, 32, 64 bits of the first number), h2 and so on, results oh, ow or od, predicates q
/// and r, and 8 bytes of memory for its thread: [at] in global and [sh] in shared memory. Registers of a scope of its own.
#define FP_PTX_REGISTERS \
  "{ .reg .b16 h1, h2, h3, oh; .reg .b32 w1, w2, w3, ow, sh; .reg .b64 d1, d2, d3, od, at; .reg .pred q, r; "
#define FP_PTX_PARTS                                                                                     \
  "cvt.u32.u64 w1, d1; cvt.u32.u64 w2, d2; cvt.u32.u64 w3, d3; cvt.u16.u64 h1, d1; cvt.u16.u64 h2, d2; " \
  "cvt.u16.u64 h3, d3; "
#define FP_PTX_RESULT_oh " cvt.u64.u16 od, oh; "
#define FP_PTX_RESULT_ow " cvt.u64.u32 od, ow; "
#define FP_PTX_RESULT_od " "

namespace flashproof::ptx::golden {

struct Form {
  const char *inputs_name, *result, *text;  // as in the list
  InputClass inputs;
  std::uint64_t hash;
};

/// Of the results in the order of the inputs.
inline std::uint64_t hash_of(const std::vector<std::uint64_t>& results) {
  std::uint64_t h = 0;
  for (const std::uint64_t result : results) {
    std::uint64_t z = (h ^ result) + 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;  // SplitMix64
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    h = z ^ z >> 31;
  }
  return h;
}

}  // namespace flashproof::ptx::golden
