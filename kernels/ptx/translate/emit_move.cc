// mov, special registers, addresses of variables, generic addresses.
#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/emit.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

std::string resized(BlockCode& code, const std::string& x, int from, int to) {
  if (from == to) return x;
  return code.op("{} {} {} to {}", from > to ? "trunc" : "zext", vector_type(from), x, vector_type(to));
}

std::string scalar_field(BlockCode& code, std::size_t offset) { return code.splat(code.field(offset, "i32"), 32); }

constexpr const char* kIota =
    "<i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, "
    "i32 15, "
    "i32 16, i32 17, i32 18, i32 19, i32 20, i32 21, i32 22, i32 23, i32 24, i32 25, i32 26, i32 27, i32 28, i32 29, "
    "i32 30, i32 31>";

/// Bits below the lane's own, and so on: eq, lt, le, gt, ge.
std::string lane_mask(BlockCode& code, std::string_view which) {
  std::string own = code.op("shl <32 x i32> splat (i32 1), {}", kIota);
  if (which == "eq") return own;
  std::string below = code.op("sub <32 x i32> {}, splat (i32 1)", own);
  if (which == "lt") return below;
  if (which == "ge") return code.op("xor <32 x i32> {}, splat (i32 -1)", below);
  const std::string through = code.op("or <32 x i32> {}, {}", below, own);
  return which == "le" ? through : code.op("xor <32 x i32> {}, splat (i32 -1)", through);
}

/// %envreg0 to %envreg31, which the driver sets: 0 where a launch is no cooperative one.
bool is_environment(std::string_view name) {
  const auto number = name.starts_with("%envreg") ? parse_u64(name.substr(7)) : std::nullopt;
  return number && *number < 32;
}

struct Found {
  const Variable* variable = nullptr;
  std::int64_t offset = 0;
};

Found find_symbol(BlockCode& code, const Operand& operand, const Module& module) {
  const Layout& layout = code.layout();
  const auto in = [&](const std::vector<Variable>& list) -> const Variable* {
    for (const Variable& variable : list) {
      if (variable.name == operand.name) return &variable;
    }
    return nullptr;
  };
  Found found{in(code.entry().parameters)};
  if (found.variable == nullptr) found.variable = in(code.entry().variables);
  if (found.variable == nullptr) found.variable = in(module.variables);
  if (found.variable == nullptr)
    code.complain(fmt::format("'{}' is no variable, parameter or register", shown(operand.name)));
  found.offset = found.variable->offset;
  if (found.variable->space == Space::param && layout.local.contains(operand.name))
    code.complain(
        fmt::format("the address of '{}', a parameter of a function, is not known here", shown(operand.name)));
  if (found.variable->space == Space::shared) found.offset = layout.shared.at(operand.name);
  if (found.variable->space == Space::local) found.offset = layout.local.at(operand.name);
  found.offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(found.offset) + operand.bits);  // modulo 2^64
  return found;
}

std::string place(BlockCode& code, const Found& found) {
  const Space space = found.variable->space;
  if (space != Space::global && space != Space::constant) return fmt::format("splat (i64 {})", found.offset);
  const std::string base = code.field(offsetof(Context, variables), "i64");
  return code.splat(code.op("add i64 {}, {}", base, found.offset), 64);
}

}  // namespace

std::string special_register(BlockCode& code, const Operand& operand, Type type) {
  static constexpr std::pair<std::string_view, std::size_t> kFields[] = {
      {"%ntid.", offsetof(Context, block_size)},
      {"%ctaid.", offsetof(Context, block_index)},
      {"%nctaid.", offsetof(Context, grid_size)},
      // of clusters of one block
      {"%clusterid.", offsetof(Context, block_index)},
      {"%nclusterid.", offsetof(Context, grid_size)}};
  const std::string_view name = operand.name;
  std::string word;
  const std::size_t axis = name.ends_with(".x") ? 0 : name.ends_with(".y") ? 1 : name.ends_with(".z") ? 2 : 3;
  for (const auto& [prefix, offset] : kFields) {
    if (axis < 3 && name.starts_with(prefix) && name.size() == prefix.size() + 1)
      word = scalar_field(code, offset + 4 * axis);
  }
  if (axis < 3 && name.starts_with("%tid.") && name.size() == 6) {
    const std::string lanes = code.field(offsetof(Context, thread), "ptr");
    word = code.op("load <32 x i32>, ptr {}, align 128",
                   code.op("getelementptr i8, ptr {}, i64 {}", lanes, axis * kLanes * 4));
  }
  for (const auto& [own, of] : {std::pair{"%cluster_ctaid", "0"}, {"%cluster_nctaid", "1"}}) {  // of one block
    if (axis < 3 && name.substr(0, name.size() - 2) == own) word = fmt::format("splat (i32 {})", of);
  }
  if (name == "%cluster_ctarank") word = "splat (i32 0)";
  if (name == "%cluster_nctarank") word = "splat (i32 1)";
  if (name == "%laneid") word = kIota;
  if (name == "%warpid") word = scalar_field(code, offsetof(Context, warp));
  if (name.starts_with("%lanemask_") && name.size() == 12) {
    for (const std::string_view which : {"eq", "lt", "le", "gt", "ge"}) {
      if (name.ends_with(which)) word = lane_mask(code, which);
    }
  }
  if (is_environment(name)) word = "zeroinitializer";
  if (word.empty())
    code.complain(fmt::format("'{}' is no register of this entry and no special register here", shown(name)));
  return resized(code, word, 32, type.bits);
}

std::string symbol_address(BlockCode& code, const Operand& operand, Type type) {
  return resized(code, place(code, find_symbol(code, operand, code.module())), 64, type.bits);
}

std::string symbol_place(BlockCode& code, const Operand& operand, Space space) {
  if (operand.name.empty()) return fmt::format("splat (i64 {})", static_cast<std::int64_t>(operand.bits));
  const Found found = find_symbol(code, operand, code.module());
  const Space own = found.variable->space;
  const bool host = own == Space::global || own == Space::constant;
  if (own != space && !(host && (space == Space::generic || space == Space::global))) {
    code.complain(fmt::format("'{}' lies in another memory", shown(operand.name)));
  }
  return place(code, found);
}

void emit_mov(BlockCode& code, const Form& form, const Instruction& in) {
  const Operand& to = in.operands[0];
  const Operand& from = in.operands[1];
  const std::string type = vector_type(form.type.bits);
  if (from.kind == Operand::Kind::vector) {  // joined, the first one lowest
    const int bits = form.type.bits / static_cast<int>(from.parts.size());
    std::string joined = "zeroinitializer";
    for (std::size_t i = 0; i < from.parts.size(); ++i) {
      const std::string part = resized(code, code.value(from.parts[i], {'b', bits}), bits, form.type.bits);
      const std::string moved =
          code.op("shl {} {}, splat (i{} {})", type, part, form.type.bits, bits * static_cast<int>(i));
      joined = code.op("or {} {}, {}", type, joined, moved);
    }
    return code.write(to, joined, form.type);
  }
  const std::string value = code.value(from, form.type);
  if (to.kind != Operand::Kind::vector) return code.write(to, value, form.type);
  const int bits = form.type.bits / static_cast<int>(to.parts.size());
  for (std::size_t i = 0; i < to.parts.size(); ++i) {
    const std::string moved =
        code.op("lshr {} {}, splat (i{} {})", type, value, form.type.bits, bits * static_cast<int>(i));
    code.write(to.parts[i], resized(code, moved, form.type.bits, bits), {'b', bits});
  }
}

namespace {

std::uint64_t window(const Form& form) {
  if (form.has("shared") || form.has("shared::cta")) return kSharedWindow;
  if (form.has("local")) return kLocalWindow;
  return form.has("param") ? kParameterWindow : 0;
}

}  // namespace

void emit_cvta(BlockCode& code, const Form& form, const Instruction& in) {
  std::string result = code.value(in.operands[1], form.type);
  if (const std::uint64_t base = window(form); base != 0) {
    result = code.op("{} <32 x i64> {}, splat (i64 {})", form.has("to") ? "sub" : "add", result, base);
  }
  code.write(in.operands[0], result, form.type);
}

void emit_isspacep(BlockCode& code, const Form& form, const Instruction& in) {
  const std::string address = code.value(in.operands[1], {'u', 64});
  const std::string high = code.op("lshr <32 x i64> {}, splat (i64 32)", address);
  const auto is = [&](std::uint64_t base) {
    return code.op("icmp eq <32 x i64> {}, splat (i64 {})", high, base >> 32);
  };
  if (const std::uint64_t base = window(form); base != 0) return code.write_predicate(in.operands[0], is(base));
  const std::string other = code.op("or <32 x i1> {}, {}", is(kSharedWindow), is(kLocalWindow));
  code.write_predicate(in.operands[0], code.op("xor <32 x i1> {}, splat (i1 true)", other));
}

}  // namespace flashproof::ptx
