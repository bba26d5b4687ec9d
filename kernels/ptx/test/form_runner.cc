#include "kernels/ptx/test/form_runner.h"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

constexpr const char* kHead = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o, .param .u32 n)
{
.reg .pred %p<4>, %q, %r, %end;
.reg .b16 %h<4>, %oh;
.reg .b32 %w<9>, %ow, %i, %n, %t, %u;
.reg .b64 %d<9>, %od, %A, %B, %C, %O, %at;
ld.param.u64 %A, [a];
ld.param.u64 %B, [b];
ld.param.u64 %C, [c];
ld.param.u64 %O, [o];
ld.param.u32 %n, [n];
mov.u32 %t, %ctaid.x;
mov.u32 %u, %ntid.x;
mov.u32 %i, %tid.x;
mad.lo.s32 %i, %t, %u, %i;
mul.wide.u32 %at, %i, 8;
)";

constexpr const char* kInputs = R"(
setp.ge.u32 %end, %i, %n;
@%end ret;
add.s64 %A, %A, %at;
add.s64 %B, %B, %at;
add.s64 %C, %C, %at;
add.s64 %O, %O, %at;
ld.global.u64 %d1, [%A];
ld.global.u64 %d2, [%B];
ld.global.u64 %d3, [%C];
cvt.u32.u64 %w1, %d1;
cvt.u32.u64 %w2, %d2;
cvt.u32.u64 %w3, %d3;
cvt.u16.u64 %h1, %d1;
cvt.u16.u64 %h2, %d2;
cvt.u16.u64 %h3, %d3;
and.b64 %d4, %d1, 1;
setp.ne.u64 %p1, %d4, 0;
and.b64 %d4, %d2, 1;
setp.ne.u64 %p2, %d4, 0;
and.b64 %d4, %d3, 1;
setp.ne.u64 %p3, %d4, 0;
)";

std::string store_of(const std::string& instruction) {
  if (instruction.find("%od") != std::string::npos) return "st.global.u64 [%O], %od;\n";
  if (instruction.find("%ow") != std::string::npos) return "cvt.u64.u32 %od, %ow;\nst.global.u64 [%O], %od;\n";
  if (instruction.find("%oh") != std::string::npos) return "cvt.u64.u16 %od, %oh;\nst.global.u64 [%O], %od;\n";
  return "selp.u64 %od, 1, 0, %q;\nst.global.u64 [%O], %od;\n";
}

void put(std::vector<std::byte>& bytes, const void* value, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(value);
  bytes.insert(bytes.end(), from, from + size);
}

LaunchResult launch_on(const std::string& ptx, std::vector<std::vector<std::uint64_t>*> arrays, Dim grid, Dim block,
                       unsigned dynamic_shared, std::int64_t max_instructions, unsigned n) {
  Program program(parse("test.ptx", ptx), "k", {.use_cache = false, .cache_folder = ""});
  std::vector<std::byte> parameters;
  std::vector<Array> ranges;
  for (auto* array : arrays) {
    const void* data = array->data();
    put(parameters, static_cast<const void*>(&data), sizeof data);
    ranges.push_back(
        {array->data(), array->size() * 8, array == arrays.back(), fmt::format("array {}", ranges.size())});
  }
  put(parameters, &n, sizeof n);
  return program.launch({grid, block, dynamic_shared, parameters, ranges, max_instructions});
}

}  // namespace

std::string module_of(const std::string& body) { return kHead + body + "\nret;\n}\n"; }

std::vector<std::uint64_t> run_form(const std::string& instruction, const std::vector<Input>& inputs) {
  std::vector<std::uint64_t> a, b, c, o(inputs.size(), 0xdeadbeefdeadbeef);
  for (const Input& input : inputs) {
    a.push_back(input.a);
    b.push_back(input.b);
    c.push_back(input.c);
  }
  const auto n = static_cast<unsigned>(inputs.size());
  const LaunchResult result = launch_on(module_of(kInputs + instruction + "\n" + store_of(instruction)),
                                        {&a, &b, &c, &o}, {(n + 127) / 128, 1, 1}, {128, 1, 1}, 0, 10'000'000'000, n);
  EXPECT_TRUE(result.completed) << (result.findings.empty() ? "" : result.findings[0].text);
  return o;
}

void expect_form(const std::string& instruction, const std::vector<Input>& inputs,
                 const std::function<std::uint64_t(const Input&)>& expected) {
  const std::vector<std::uint64_t> results = run_form(instruction, inputs);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t wanted = expected(inputs[i]);
    if (results[i] == wanted) continue;
    if (++wrong > 3) continue;
    ADD_FAILURE() << fmt::format("{} of {:#x}, {:#x}, {:#x}: {:#x}, expected {:#x}", instruction, inputs[i].a,
                                 inputs[i].b, inputs[i].c, results[i], wanted);
  }
  EXPECT_EQ(wrong, 0U) << instruction;
}

std::vector<Input> tuples_of(const std::vector<std::uint64_t>& values, int operands) {
  std::vector<Input> inputs;
  for (const std::uint64_t a : values) {
    for (const std::uint64_t b : values) {
      if (operands < 2 && b != 0) break;
      for (const std::uint64_t c : values) {
        if (operands < 3 && c != 0) break;
        inputs.push_back({a, b, c});
      }
    }
  }
  return inputs;
}

std::vector<Input> float_inputs(int operands) {
  static constexpr std::uint32_t kNasty[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
                                             0x00800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff,
                                             0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
                                             0x7f800001, 0x3f000000, 0x33800000, 0x4b000001, 0x5f800000, 0x00400000};
  std::vector<Input> inputs = tuples_of({std::begin(kNasty), std::end(kNasty)}, operands);
  std::mt19937_64 random(1);
  for (int i = 0; i < 4000; ++i) {  // half of them near one another in exponent
    Input input{static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()),
                static_cast<std::uint32_t>(random())};
    if (i % 2 == 0) {
      for (std::uint64_t* x : {&input.a, &input.b, &input.c}) *x = (*x & 0x83ffffff) | 0x3c000000;
    }
    inputs.push_back(input);
  }
  return inputs;
}

std::vector<Input> integer_inputs(int bits, int operands, bool shifts) {
  const std::uint64_t all = ~0ULL >> (64 - bits), top = 1ULL << (bits - 1);
  const std::vector<std::uint64_t> nasty = {
      0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 255, top - 1, top, top + 1, all - 1, all, 0x5a5a5a5a5a5a5a5a & all};
  std::vector<Input> inputs;
  for (const std::uint64_t a : nasty) {
    for (const std::uint64_t b : nasty) {
      for (const std::uint64_t c : nasty) {
        if (operands >= 3 || c == 0) inputs.push_back({a, b, c});
      }
    }
  }
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    Input input{random() & all, random() & all, random() & all};
    if (shifts) (operands >= 3 ? input.c : input.b) %= i % 3 == 0 ? 300 : 70;
    if (shifts && operands >= 3) input.b %= 70;
    inputs.push_back(input);
  }
  return inputs;
}

RunResult run_module(const std::string& ptx, std::vector<std::uint64_t>& a, std::vector<std::uint64_t>& o,
                     unsigned blocks, unsigned threads, unsigned dynamic_shared, std::int64_t max_instructions) {
  try {
    std::vector<std::uint64_t> b = a, c = a;
    const LaunchResult result = launch_on(ptx, {&a, &b, &c, &o}, {blocks, 1, 1}, {threads, 1, 1}, dynamic_shared,
                                          max_instructions, static_cast<unsigned>(a.size()));
    RunResult run{"", result.instructions, result.printed};
    for (const Finding& finding : result.findings) run.said += (run.said.empty() ? "" : "\n") + finding.text;
    EXPECT_EQ(result.completed && result.findings.empty(), run.said.empty());
    return run;
  } catch (const UsageError& error) {
    return {error.what()};
  }
}

std::string said_of_threads(const std::string& body, unsigned threads, unsigned blocks) {
  std::vector<std::uint64_t> a(256), o(256, 77);
  return run_module(
             module_of(".shared .align 16 .b8 s[1024];\nmov.u32 %n, %tid.x;\nmov.u32 %w1, s;\nshl.b32 %w3, %n, 2;\n"
                       "add.u32 %w1, %w1, %w3;\nxor.b32 %w3, %w3, 128;\nmov.u32 %w2, s;\nadd.u32 %w2, %w2, %w3;\n"
                       "setp.lt.u32 %p1, %n, 32;\nmov.u64 %C, %O;\nadd.s64 %O, %O, %at;\n" +
                       body),
             a, o, blocks, threads)
      .said;
}

}  // namespace flashproof::ptx
