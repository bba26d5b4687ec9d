#include "kernels/ptx/translate/outlined.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kernels/ptx/run/code.h"

namespace flashproof::ptx {
namespace {

constexpr std::int64_t kSlot = 256;    // bytes of a register of the function, 32 lanes of 64 bits
constexpr std::size_t kMostRead = 4;   // room 0 has so many slots; the result takes the place of the first operand
constexpr std::size_t kMostHere = 80;  // pieces of 256 bits that a form may compute and stand where it is used

/// One register from others, or from numbers.
bool is_function(const CheckedInstruction& checked) {
  const auto& rules = checked.rules;
  const std::string& opcode = checked.form->parts[0];
  if (checked.form->has("cc") || opcode == "addc" || opcode == "subc" || opcode == "madc")
    return false;  // a carry, too
  return rules.size() >= 2 && rules.size() <= kMostRead + 1 && rules[0].kind == 'd' && !rules[0].pair &&
         std::all_of(rules.begin() + 1, rules.end(), [](const OperandRule& rule) { return rule.kind == 's'; });
}

/// What LLVM makes of a line, about, in instructions of 256 bits. Between floats and integers of 64 bits lanes go one by one; what compared floats
/// chooses between halves by is packed first.
std::size_t weight_of(std::string_view line) {
  const std::size_t at = line.find('<');
  if (at == std::string_view::npos) return 1;
  if (line.find("= bitcast") != std::string_view::npos) return 0;
  const auto number = [&](std::size_t from) {
    std::size_t value = 0;
    std::from_chars(line.data() + from, line.data() + line.size(), value);
    return value;
  };
  const bool selects = line.find("select") != std::string_view::npos;  // by lanes of i1, the first type
  const std::size_t lanes = number(at + 1), type = selects ? line.rfind(" x ") : line.find(" x ", at);
  if (type == std::string_view::npos) return 1;
  const std::string_view name = line.substr(type + 3);
  const std::size_t bits = name.starts_with("double")  ? 64
                           : name.starts_with("float") ? 32
                           : name.starts_with("half")  ? 16
                           : name.starts_with("i")     ? number(type + 4)
                                                       : 64;
  const bool by_lanes = (line.find("fpto") != std::string_view::npos || line.find("itofp") != std::string_view::npos) &&
                        line.find("i64") != std::string_view::npos;
  const bool repacks = selects && bits == 16;
  return by_lanes ? 4 * lanes : std::max<std::size_t>(1, (repacks ? 8 : 1) * lanes * bits / 256);
}

std::size_t weight(std::string_view text) {
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    sum += weight_of(text.substr(at, end - at));
    at = end + 1;
  }
  return sum;
}

/// The function, or nothing of a form that is small or sees more than its operands.
std::string function_of(const Module& module, const CheckedInstruction& checked, const Instruction& in,
                        const std::string& name) {
  Flow flow;
  Layout layout;
  Instruction alone = in;
  alone.guard = -1;
  for (std::size_t i = 0; i < checked.rules.size(); ++i) {
    alone.operands[i] = {};
    alone.operands[i].kind = Operand::Kind::reg;
    alone.operands[i].reg = static_cast<int>(i);
    flow.entry.registers.push_back({fmt::format("operand {}", i), checked.rules[i].type});
    layout.slots.push_back(i == 0 ? 0 : static_cast<std::int64_t>(i - 1) * kSlot);
  }
  flow.blocks.emplace_back();
  BlockCode code(module, flow, layout, 0);
  const std::string body = code.function_of(*checked.form, alone, name);
  const bool sees_more = body.find("%c") != std::string::npos || body.find("%m") != std::string::npos ||
                         body.find("%room") != std::string::npos || body.find("br ") != std::string::npos;
  return sees_more || weight(body) <= kMostHere ? "" : body;
}

}  // namespace

bool emit_outlined(BlockCode& code, const CheckedInstruction& checked, const Instruction& in) {
  if (!is_function(checked)) return false;
  const std::string name = fmt::format("form_{}", checked.form->name);
  auto [function, is_new] = code.outlined().try_emplace(name);
  if (is_new) function->second = function_of(code.module(), checked, in, name);
  if (function->second.empty()) return false;
  for (std::size_t i = 1; i < checked.rules.size(); ++i) {
    const Type type = checked.rules[i].type;
    code.line("store {} {}, ptr {}, align 128", vector_type(type.bits), code.value(in.operands[i], type),
              code.room_of(0, static_cast<int>(i) - 1, kSlot * 8 / kLanes));
  }
  code.line("call void @{}(ptr {})", name, code.room(0));
  const Type type = checked.rules[0].type;
  code.write(in.operands[0], code.op("load {}, ptr {}, align 128", vector_type(type.bits), code.room(0)), type);
  return true;
}

}  // namespace flashproof::ptx
