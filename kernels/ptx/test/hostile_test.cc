// Mutated files: each ends in one clear line, in findings, or in a run; never in a crash, a hang, a refusal by LLVM, or a byte written
// beside the launch's arrays.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/test/form_runner.h"
#include "kernels/ptx/translate/translate.h"
#include "reference/system/error.h"

#ifndef FLASHPROOF_PTX_MUTATIONS
#define FLASHPROOF_PTX_MUTATIONS 2000
#endif

namespace flashproof::ptx {
namespace {

/// Small kernels that use every kind of statement: arithmetic, memory of each kind, branches, loops, collectives, barriers, matrices,
/// copies, calls.
std::vector<std::string> small_kernels() {
  std::vector<std::string> list;
  list.push_back(
      module_of("add.s64 %A, %A, %at;\nld.global.u32 %w1, [%A];\nld.global.v2.u32 {%w2, %w3}, [%A];\nfma.rn.f32 %w4, "
                "%w1, %w2, %w3;\nsetp.lt.f32 %p1, %w4, 0f3f800000;\n"
                "@%p1 bra $L;\ndiv.rn.f32 %w4, %w1, %w2;\n$L:\nadd.s64 %O, %O, %at;\nst.global.u32 [%O+4], %w4;"));
  list.push_back(
      module_of("mov.u32 %w1, 0;\nmov.u32 %ow, 1;\n$L:\nmad.lo.u32 %ow, %ow, 3, %w1;\nadd.u32 %w1, %w1, "
                "1;\nsetp.le.u32 %p1, %w1, %i;\n@%p1 bra $L;\n"
                "shfl.sync.bfly.b32 %w2|%p2, %ow, 1, 31, -1;\nvote.sync.ballot.b32 %w3, %p1, -1;\nadd.s64 %O, %O, "
                "%at;\nst.global.v2.u32 [%O], {%w2, %w3};"));
  list.push_back(
      module_of(".shared .align 8 .b8 s[256];\n.local .align 8 .b8 l[16];\nmov.u32 %w1, s;\nshl.b32 %w2, %i, "
                "2;\nadd.u32 %w1, %w1, %w2;\nst.shared.u32 [%w1], %i;\nbar.sync 0;\n"
                "xor.b32 %w3, %w1, 4;\nld.shared.u32 %w4, [%w3];\nmov.u64 %d1, l;\nst.local.u32 [%d1+4], "
                "%w4;\nld.local.u32 %w5, [%d1+4];\natom.global.add.u32 %w6, [%O], %w5;\n"
                "bar.red.or.pred %p1, 0, %p2;\n@%p1 exit;\nredux.sync.add.u32 %w7, %w6, -1;\ncvt.rn.f32.u32 %w8, "
                "%w7;\nred.global.max.u32 [%O+8], %w8;"));
  list.push_back(
      module_of("{\n.reg .b32 t<3>;\nmov.b64 {t0, t1}, %at;\nmov.b64 %d1, {t1, t0};\nbfe.u32 t2, t0, 3, 5;\nprmt.b32 "
                "t2, t2, t0, 0x5410;\nlop3.b32 t2, t2, t0, t1, 0x96;\n}\n"
                "cvta.to.global.u64 %d2, %A;\nld.u64 %d3, [%d2+8];\ncvt.rn.f16x2.f32 %ow, %w1, %w2;\nmin.s64 %d3, %d3, "
                "%d1;\nrem.u64 %d3, %d3, 7;\nst.u64 [%O], %d3;"));
  list.push_back(module_of(
      ".shared .align 16 .b8 s[1024];\nand.b32 %w2, %i, 31;\nshl.b32 %w2, %w2, 4;\nmov.u32 %w1, s;\nadd.u32 %w1, %w1, "
      "%w2;\nand.b32 %w2, %w2, 255;\ncvt.u64.u32 %d1, %w2;\nadd.s64 %A, %A, %d1;\ncp.async.cg.shared.global [%w1], "
      "[%A], 16, 12;\ncp.async.commit_group;\ncp.async.ca.shared.global [%w1+512], [%A], "
      "8;\ncp.async.commit_group;\ncp.async.wait_group 1;\nbar.sync 0;\nsetp.ge.u32 %p1, %i, 32;\n@%p1 bra "
      "$E;\nldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%w3, %w4, %w5, %w6}, [%w1];\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%w1, %w2, %w7, %w8}, {%w3, %w4, %w5, %w6}, {%w4, %w6}, {%w1, "
      "%w1, %w2, %w3};\nst.global.v2.u32 [%O+8], {%w1, %w8};\n$E:\ncp.async.wait_all;"));
  list.push_back(module_of(
      ".shared .align 1024 .b8 s[2048];\n.reg .f32 %f<4>;\nmov.u32 %w1, s;\nsetp.eq.u32 %p1, %i, 0;\nelect.sync "
      "%w2|%p2, -1;\n@%p1 mbarrier.init.shared.b64 [s+1024], 1;\nbar.sync 0;\n@%p1 "
      "mbarrier.arrive.expect_tx.shared.b64 "
      "%d1, [s+1024], 256;\n@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%A], 256, "
      "[s+1024];\n$W:\nmbarrier.try_wait.parity.shared.b64 %p3, [s+1024], 0;\n@!%p3 bra $W;\nmov.u64 %d2, "
      "0x0000001000080000;\nmov.b32 %f0, 0;\nmov.b32 %f1, 0;\nmov.b32 %f2, 0;\nmov.b32 %f3, 0;\n"
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%w1, %w2, "
      "%w1, "
      "%w2}, %d2, %p1, 1, -1, 1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned "
      "0;\nfence.proxy.async;\n"
      "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%O], [s], 256;\ncp.async.bulk.commit_group;\n"
      "cp.async.bulk.wait_group.read 0;\n@%p1 cp.async.bulk.prefetch.tensor.2d.L2.global [%A, {%w1, %w2}];\nbar.arrive "
      "1, "
      "64;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"));
  list.push_back(module_of(
      "{\n.param .b32 x0;\nst.param.b32 [x0+0], %i;\n.param .align 16 .b8 x1[16];\nst.param.v2.u64 [x1], {%A, "
      "5};\n.param "
      ".b32 r0;\ncall.uni (r0), f, (x0, x1);\nld.param.b32 %w1, [r0+0];\n}\nsetp.lt.u32 %p1, %w1, 9;\n@%p1 call g, "
      "();\nst.global.u32 [%O], %w1;"));
  list.back().insert(
      list.back().find(".visible"),
      ".func g() { .local .b8 l[8]; st.local.u8 [l+3], 1; ret; }\n.func (.param .b32 back) f(.param .b32 a, .param "
      ".align "
      "8 .b8 b[16])\n{\n.reg .b32 %r<3>;\n.reg .b64 %d;\n.reg .pred %p;\nld.param.u32 %r1, [a];\nld.param.u64 %d, "
      "[b+8];\ncvt.u32.u64 %r2, %d;\nsetp.gt.u32 %p, %r1, 7;\n@%p bra far;\ncall.uni g;\nadd.u32 %r1, %r1, "
      "%r2;\nfar:\nst.param.b32 [back+0], %r1;\n@%p ret;\nadd.u32 %r1, %r1, 1;\nst.param.b32 [back], %r1;\n}\n");
  return list;
}

const std::vector<std::string> kNasty = {"0",
                                         "-1",
                                         "1",
                                         "31",
                                         "32",
                                         "255",
                                         "65536",
                                         "2147483648",
                                         "4294967295",
                                         "4294967296",
                                         "-9223372036854775808",
                                         "18446744073709551615",
                                         "0f7fc00000",
                                         "%rd99",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ";",
                                         "@%p1",
                                         "_",
                                         "%tid.x",
                                         ".b128",
                                         ".v4",
                                         "ret",
                                         "x0",
                                         "f",
                                         "bra $L",
                                         "\x80",
                                         "\"",
                                         "/*",
                                         "<",
                                         "0x"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string text) {
    for (std::size_t times = below(4) == 0 ? 3 : 1; times > 0; --times) once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  std::pair<std::size_t, std::size_t> line(const std::string& text) {
    const std::size_t at = below(text.size());
    const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at);
    const std::size_t end = text.find('\n', at + 1);
    return {begin, (end == std::string::npos ? text.size() : end) - begin};
  }

  std::pair<std::size_t, std::size_t> word(const std::string& text) {
    constexpr const char* kBreaks = " \n\t,;[]{}+";
    std::size_t begin = below(text.size());
    while (begin > 0 && std::string_view(kBreaks).find(text[begin - 1]) == std::string_view::npos) --begin;
    const std::size_t end = std::min(text.find_first_of(kBreaks, begin), text.size());
    return {begin, end - begin};
  }

  void once(std::string& text) {
    if (text.empty()) return;
    switch (below(8)) {
      case 0:
        text[below(text.size())] = static_cast<char>(random_());
        break;
      case 1: {
        const auto [at, size] = line(text);
        text.erase(at, size);
        break;
      }
      case 2: {
        const auto [at, size] = line(text);
        const std::string copy = text.substr(at, size);
        text.insert(line(text).first, copy);
        break;
      }
      case 3: {
        const auto [at, size] = word(text);
        const auto [other, length] = word(text);
        const std::string copy = text.substr(other, length);
        text.replace(at, size, copy);
        break;
      }
      case 4:
      case 5: {
        const auto [at, size] = word(text);
        text.replace(at, size, kNasty[below(kNasty.size())]);
        break;
      }
      case 6:
        text.insert(below(text.size()), kNasty[below(kNasty.size())]);
        break;
      default:
        if (below(4) == 0) text.resize(below(text.size()));
    }
  }

  std::mt19937_64 random_;
};

struct Outcomes {
  std::size_t refused = 0, found = 0, ran = 0;
};

constexpr std::size_t kGuard = 512, kWords = 64;

/// Four arrays, each with guards around; only the last may be written.
void run(const std::string& text, std::uint64_t seed, Outcomes& outcomes) {
  std::vector<std::vector<std::uint64_t>> memory(4,
                                                 std::vector<std::uint64_t>(kWords + 2 * kGuard, 0x5555aaaa5555aaaa));
  try {
    const Module module = parse("m.ptx", text);
    Program program(module, "k", {.use_cache = false, .cache_folder = ""});
    std::vector<std::byte> parameters(static_cast<std::size_t>(program.entry().parameter_bytes));
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint64_t* data = memory[i].data() + kGuard;
      arrays.push_back({data, kWords * 8, i == 3, "array"});
      if (parameters.size() >= 8 * i + 8) std::memcpy(parameters.data() + 8 * i, static_cast<const void*>(&data), 8);
    }
    const LaunchResult result = program.launch({{2, 1, 1}, {40, 1, 1}, 128, parameters, arrays, 100'000});
    (result.findings.empty() ? outcomes.ran : outcomes.found)++;
    for (const Finding& finding : result.findings) EXPECT_TRUE(finding.text.starts_with("m.ptx:")) << finding.text;
  } catch (const UsageError& error) {
    ++outcomes.refused;
    const std::string said = error.what();
    EXPECT_TRUE(said.starts_with("m.ptx:") && said.find('\n') == std::string::npos && said.size() < 1500) << said;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "mutation " << seed << ": " << error.what() << "\n" << text;
  }
  for (std::size_t i = 0; i < 4; ++i) {
    auto intact = [&](auto begin, auto end) {
      return std::all_of(begin, end, [](std::uint64_t word) { return word == 0x5555aaaa5555aaaa; });
    };
    const auto& words = memory[i];
    const bool whole = i < 3
                           ? intact(words.begin(), words.end())
                           : intact(words.begin(), words.begin() + kGuard) && intact(words.end() - kGuard, words.end());
    EXPECT_TRUE(whole) << "mutation " << seed << " wrote beside its arrays\n" << text;
  }
}

TEST(Hostile, mutated_kernels_are_refused_or_run_in_their_own_memory) {
  const std::vector<std::string> bases = small_kernels();
  Outcomes outcomes;
  for (const std::string& base : bases) run(base, 0, outcomes);
  EXPECT_EQ(outcomes.refused, 0U) << "the kernels that are mutated must be right";
  for (std::uint64_t seed = 1; seed <= FLASHPROOF_PTX_MUTATIONS && !HasFailure(); ++seed)
    run(Mutator(seed)(bases[seed % bases.size()]), seed, outcomes);
  std::printf("%zu refused, %zu with findings, %zu ran\n", outcomes.refused, outcomes.found, outcomes.ran);
  EXPECT_GT(outcomes.refused, FLASHPROOF_PTX_MUTATIONS / 10U);
  EXPECT_GT(outcomes.found, FLASHPROOF_PTX_MUTATIONS / 50U);
  EXPECT_GT(outcomes.ran, FLASHPROOF_PTX_MUTATIONS / 50U);
}

TEST(Hostile, mutations_of_whole_files_are_parsed_and_translated_or_refused) {
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(FLASHPROOF_PTX_FOLDER)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream in(file.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(files);
  ASSERT_FALSE(files.empty());
  for (std::uint64_t seed = 1; seed <= FLASHPROOF_PTX_MUTATIONS / 20 && !HasFailure(); ++seed) {
    try {
      const Module module = parse("m.ptx", Mutator(seed)(files[seed % files.size()]));
      for (const Entry& entry : module.entries) translate(module, entry);
    } catch (const UsageError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("m.ptx:")) << error.what();
    }
  }
}

/// "m.ptx:LINE: what" of the first thing that is refused, "" if nothing is; in seconds that are not many.
std::string refusal(const std::string& body, const std::string& functions = "") {
  const auto begin = std::chrono::steady_clock::now();
  std::string said;
  try {
    std::string text = module_of(body);
    const Module module = parse("m.ptx", text.insert(text.find(".visible"), functions));
    translate(module, find_entry(module, "k"));
  } catch (const UsageError& error) {
    said = error.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  return said;
}

TEST(Hostile, small_files_do_not_ask_for_much) {
  std::string functions, variables, chain = "bra $L0;\n$R:\n";
  for (int i = 0; i < 400; ++i) functions += fmt::format(".func f{}() {{ .reg .b32 %r<65536>; ret; }}\n", i);
  EXPECT_THAT(refusal("", functions), testing::HasSubstr("more than 524288 registers in the file"));
  for (int i = 0; i < 100'000; ++i) variables += fmt::format(".local .b8 v{}[1];\n", i);
  EXPECT_THAT(refusal(variables), testing::HasSubstr("more than 16384 variables"));
  EXPECT_THAT(refusal(std::string(kMaxTokens, ';')), testing::HasSubstr("more than 8388608 words, numbers and signs"));
  // Registers that live across a chain of branches, each backwards in the text.
  constexpr int kLinks = 20'000, kRead = 6'000;
  chain += fmt::format(".reg .b32 %x<{}>;\n", kRead);
  for (int i = 0; i < kRead; ++i) chain += fmt::format("st.global.u32 [%O], %x{};\n", i);
  chain += "ret;\n";
  for (int i = kLinks; i-- > 0;)
    chain += fmt::format("$L{}:\nbra {};\n", i, i + 1 < kLinks ? fmt::format("$L{}", i + 1) : "$R");
  EXPECT_EQ(refusal(chain), "");
}

}  // namespace
}  // namespace flashproof::ptx
