#include "kernels/ptx/test/golden/wgmma.h"

#include <random>
#include <sstream>

namespace flashproof::ptx::golden {
namespace {

bool is_16_bit(const std::string& type) { return type == "f16" || type == "bf16"; }

/// A word of one, two or four numbers. Now and then any pattern; else exponents near that of 1.
std::uint32_t word_of(const std::string& type, std::mt19937_64& random) {
  const auto word = static_cast<std::uint32_t>(random());
  if (random() % 512 == 0) return word;
  if (type == "f16") return word & 0xb7ffb7ff;
  if (type == "bf16") return (word & 0xbfffbfff) | 0x38003800;
  if (type == "tf32") return (word & 0xbfffffff) | 0x38000000;
  return word & 0xbfbfbfbf;  // of 8 bits
}

std::string list(const std::string& prefix, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + prefix + std::to_string(i);
  return text;
}

}  // namespace

std::vector<WgmmaCase> wgmma_cases() {
  std::vector<WgmmaCase> cases;
  for (const char* type : {"f16", "bf16", "tf32", "e4m3", "e5m2"}) {
    for (const int swizzle : {0, 32, 64, 128}) {
      for (int bits = 0; bits < 6; ++bits) {
        const bool registers = bits >= 4, a = !registers && (bits & 2) != 0, b = (bits & 1) != 0;
        if ((a || b) && !is_16_bit(type)) continue;
        cases.push_back({type, registers ? 24 : 64, swizzle, registers, a, b});
        if (a == b) cases.push_back({type, registers ? 8 : 256, swizzle, registers, a, b});
      }
    }
  }
  return cases;
}

WgmmaStrides wgmma_strides(int swizzle, bool across) {
  const int row = swizzle == 0 ? 16 : swizzle;
  if (!across) return {swizzle == 0 ? 128 : 16, swizzle == 0 ? 256 : 8 * row};
  // Across k: 16 k of a row, 8 of them to a group; without swizzle a chunk of 16 bytes has 16 k of its own.
  return swizzle == 0 ? WgmmaStrides{128, 256} : WgmmaStrides{16 * row, 8 * row};
}

std::string wgmma_text(const WgmmaCase& what) {
  const int sums = what.columns / 2;
  const bool two_bytes = is_16_bit(what.type);
  const auto descriptor = [&](const char* name, const char* at, bool across) {
    const WgmmaStrides strides = wgmma_strides(what.swizzle, across);
    const std::uint64_t mode = what.swizzle == 0 ? 0 : what.swizzle == 128 ? 1 : what.swizzle == 64 ? 2 : 3;
    const std::uint64_t bits =
        std::uint64_t(strides.leading / 16) << 16 | std::uint64_t(strides.stride / 16) << 32 | mode << 62;
    std::ostringstream text;
    text << "mov.u32 %w, " << at << ";\nshr.u32 %w, %w, 4;\ncvt.u64.u32 " << name << ", %w;\nor.b64 " << name << ", "
         << name << ", " << bits << "U;\n";
    return text.str();
  };
  std::ostringstream text;
  text << ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
       << ".reg .pred %p, %on;\n.reg .b32 %i, %w, %n, %a<4>;\n.reg .f32 %s<128>;\n.reg .b64 %in, %out, %at, %da, %db;\n"
       << ".shared .align 1024 .b8 ma[" << kMatrixABytes << "];\n.shared .align 1024 .b8 mb[" << kMatrixBBytes << "];\n"
       << "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %i, %tid.x;\n"
       << "mov.u32 %n, %i;\n$A:\nmul.wide.u32 %at, %n, 4;\nadd.s64 %at, %in, %at;\nld.global.u32 %a0, [%at];\n"
       << "mov.u32 %w, ma;\nsetp.ge.u32 %p, %n, " << kMatrixABytes / 4
       << ";\n@%p mov.u32 %w, mb;\nshl.b32 %a1, %n, 2;\n@%p sub.u32 %a1, %a1, " << kMatrixABytes
       << ";\nadd.u32 %w, %w, %a1;\nst.shared.u32 [%w], %a0;\nadd.u32 %n, %n, " << kWgmmaThreads
       << ";\nsetp.lt.u32 %p, %n, " << kWgmmaMatrixWords << ";\n@%p bra $A;\n"
       << "mul.lo.u32 %n, %i, 132;\nmul.wide.u32 %at, %n, 4;\nadd.s64 %at, %in, %at;\n";
  for (int i = 0; i < 4; ++i)
    text << "ld.global.u32 %a" << i << ", [%at+" << 4 * (kWgmmaMatrixWords + unsigned(i)) << "];\n";
  for (int i = 0; i < sums; ++i)
    text << "ld.global.f32 %s" << i << ", [%at+" << 4 * (kWgmmaMatrixWords + 4 + unsigned(i)) << "];\n";
  text << "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
       << descriptor("%da", "ma", what.a_across) << descriptor("%db", "mb", what.b_across)
       << "setp.eq.u32 %on, 0, 0;\nwgmma.fence.sync.aligned;\n";
  const std::string depth = two_bytes ? "k16" : what.type == "tf32" ? "k8" : "k32";
  for (int step = 0; step < 3; ++step) {
    text << "wgmma.mma_async.sync.aligned.m64n" << what.columns << depth << ".f32." << what.type << "." << what.type
         << " {" << list("%s", sums) << "}, ";
    what.a_in_registers ? text << "{%a0, %a1, %a2, %a3}" : text << "%da";
    text << ", %db, %on, " << (step == 2 ? -1 : 1) << ", 1";
    if (two_bytes && !what.a_in_registers) text << ", " << (what.a_across ? 1 : 0);
    if (two_bytes) text << ", " << (what.b_across ? 1 : 0);
    text << ";\n";
  }
  text << "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
       << "mul.lo.u32 %n, %i, 128;\nmul.wide.u32 %at, %n, 4;\nadd.s64 %at, %out, %at;\n";
  for (int i = 0; i < sums; ++i) text << "st.global.f32 [%at+" << 4 * i << "], %s" << i << ";\n";
  text << "ret;\n}\n";
  return text.str();
}

std::vector<std::uint32_t> wgmma_input(const WgmmaCase& what) {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> words(kWgmmaInputWords);
  for (unsigned i = 0; i < kWgmmaMatrixWords; ++i) words[i] = word_of(what.type, random);
  for (unsigned thread = 0; thread < kWgmmaThreads; ++thread) {
    std::uint32_t* mine = words.data() + kWgmmaMatrixWords + thread * 132;
    for (int i = 0; i < 4; ++i) mine[i] = word_of(what.type, random);
    for (int i = 4; i < 132; ++i) mine[i] = word_of("tf32", random);
  }
  return words;
}

std::string name_of(const WgmmaCase& what) {
  return what.type + " n" + std::to_string(what.columns) + " swizzle " + std::to_string(what.swizzle) +
         (what.a_in_registers ? " a registers"
          : what.a_across     ? " a across k"
                              : "") +
         (what.b_across ? " b across k" : "");
}

}  // namespace flashproof::ptx::golden
