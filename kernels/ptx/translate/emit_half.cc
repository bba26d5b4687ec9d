// Arithmetic of f16 and bf16, alone and two side by side (PTX ISA 9.7.4). The exact product is a double; the sum is a double rounded
// to odd, and from there on nothing is lost that the one rounding to 16 bits would have seen.
#include "kernels/ptx/translate/emit.h"
#include "kernels/ptx/translate/floats.h"

namespace flashproof::ptx {
namespace {

/// a + b of doubles, rounded to odd: to nearest, then moved by what that lost (Knuth's sum of two).
std::string odd_sum(BlockCode& code, int lanes, const std::string& a, const std::string& b) {
  const std::string type = fmt::format("<{} x double>", lanes), word = fmt::format("<{} x i64>", lanes),
                    bools = fmt::format("<{} x i1>", lanes);
  const auto minus = [&](const std::string& x, const std::string& y) { return code.op("fsub {} {}, {}", type, x, y); };
  const std::string sum = code.op("fadd {} {}, {}", type, a, b);
  const std::string of_b = minus(sum, a), of_a = minus(sum, of_b);
  const std::string lost = code.op("fadd {} {}, {}", type, minus(a, of_a), minus(b, of_b));
  const std::string bits = code.op("bitcast {} {} to {}", type, sum, word);
  const std::string last = code.op("and {} {}, splat (i64 1)", word, bits);
  const std::string even = code.op("icmp eq {} {}, zeroinitializer", word, last);
  const std::string inexact = code.op("fcmp one {} {}, zeroinitializer", type, lost);  // false of NaN
  const std::string moves = code.op("and {} {}, {}", bools, even, inexact);
  const std::string below = code.op("fcmp olt {} {}, zeroinitializer", type, lost);
  const std::string negative = code.op("fcmp olt {} {}, zeroinitializer", type, sum);
  const std::string inward = code.op("xor {} {}, {}", bools, below, negative);
  const std::string step = code.op("select {0} {1}, {2} splat (i64 -1), {2} splat (i64 1)", bools, inward, word);
  const std::string moved = code.op("add {} {}, {}", word, bits, step);
  const std::string odd = code.op("select {0} {1}, {2} {3}, {2} {4}", bools, moves, word, moved, bits);
  return code.op("bitcast {} {} to {}", word, odd, type);
}

}  // namespace

void emit_half_arithmetic(BlockCode& code, const Form& form, const Instruction& in) {
  const bool flush = form.has("ftz");
  const int lanes = form.parts.back().ends_with("x2") ? 2 * kLanes : kLanes;
  const std::string& opcode = form.parts[0];
  Floats floats(code, form.parts.back());
  std::vector<std::string> x;
  for (std::size_t i = 1; i < in.operands.size(); ++i) x.push_back(floats.doubles(floats.read(in.operands[i], flush)));
  std::string result = x[0], addend = x[1];
  if (opcode == "mul" || opcode == "fma") {
    result = code.op("fmul <{} x double> {}, {}", lanes, x[0], x[1]);
    addend = opcode == "fma" ? x[2] : "";
  } else if (opcode == "sub") {
    addend = code.op("fneg <{} x double> {}", lanes, x[1]);
  }
  if (!addend.empty()) result = odd_sum(code, lanes, result, addend);
  std::string bits = floats.narrow_double(result, Rounding::nearest);
  if (flush) {  // as Floats::flushed_below: 2^-14 less a quarter of a unit still rounds to 2^-14
    const std::string size = code.op("call <{0} x double> @llvm.fabs.v{0}f64(<{0} x double> {1})", lanes, result);
    const std::string tiny = code.op("fcmp olt <{} x double> {}, splat (double 0x3F0FFE0000000000)", lanes, size);
    bits = floats.select(tiny, floats.with("and", bits, floats.sign()), bits);
  }
  floats.write(in.operands[0], floats.finished(form, bits, false));
}

}  // namespace flashproof::ptx
