// What compiling costs, without a clock: the machine code of each golden form is bounded. Where LLVM takes vectors apart lane by lane it makes
// kilobytes of one instruction, and takes 10 to 130 ms for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/jit.h"
#include "kernels/ptx/test/golden/form.h"
#include "kernels/ptx/translate/translate.h"

namespace flashproof::ptx::golden {
namespace {

constexpr const char* kTexts[] = {
#define FP_PTX_FORM(inputs, result, text, hash) text FP_PTX_RESULT_##result,
#include "kernels/ptx/test/golden/forms_sm_90.inc"
#undef FP_PTX_FORM
};

constexpr std::size_t kCopies = 4, kMostBytes = 5000;  // of a copy

/// Of so many copies, each of which changes what the next one reads.
std::size_t bytes_of(const std::string& text) {
  std::string ptx =
      ".version 8.0\n.target sm_80\n.visible .entry k(.param .u64 o)\n" FP_PTX_REGISTERS
      ".shared .align 8 .b8 cells[8]; mov.b32 sh, cells; ld.param.u64 at, [o]; ld.global.u64 d1, [at]; ld.global.u64 "
      "d2, [at+8]; ld.global.u64 d3, [at+16];\n";
  for (std::size_t i = 0; i < kCopies; ++i)
    ptx += FP_PTX_PARTS + text + "xor.b64 d1, d1, od; add.u64 d2, d2, od; sub.u64 d3, d3, od;\n";
  const Module module =
      parse("t", ptx + "st.global.u64 [at], d1; st.global.u64 [at+8], d2; st.global.u64 [at+16], d3; ret; }\n");
  return compile(translate(module, module.entries[0]).ir).size();
}

TEST(PtxCodeSize, of_every_form_is_small) {
  const std::size_t nothing = bytes_of("mov.b64 od, d1;");
  std::set<std::string> seen;
  for (const char* text : kTexts) {
    if (!seen.insert(text).second) continue;
    EXPECT_LE(bytes_of(text), nothing + kCopies * kMostBytes) << text;
  }
  EXPECT_GT(seen.size(), 400U);
}

}  // namespace
}  // namespace flashproof::ptx::golden
