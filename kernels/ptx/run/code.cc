#include "kernels/ptx/run/code.h"

#include <algorithm>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/parse/token_reader.h"
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {

std::string vector_type(int bits) { return fmt::format("<{} x i{}>", kLanes, bits); }

std::string integer_splat(std::uint64_t bits, int width) {
  const int unused = 64 - width;
  const auto number = static_cast<std::int64_t>(bits << unused) >> unused;
  return width == 1 ? fmt::format("splat (i1 {})", bits != 0) : fmt::format("splat (i{} {})", width, number);
}

BlockCode::BlockCode(const Module& module, const Flow& flow, Layout& layout, int number)
    : module_(module),
      flow_(flow),
      layout_(layout),
      block_(flow.blocks[static_cast<std::size_t>(number)]),
      number_(number) {}

void BlockCode::begin(const Instruction& instruction) {
  line_ = instruction.line;
  guard_ = instruction.guard;
  guard_negated_ = instruction.guard_negated;
  guard_value_.clear();
}

void BlockCode::complain(const std::string& what) const { refuse(file(), line_, what); }

bool BlockCode::is_loop() const { return block_.target == number_ && block_.meet < 0 && block_.result < 0; }

std::string BlockCode::read(int reg) {
  if (const auto known = current_.find(reg); known != current_.end()) return known->second;
  const int bits = flow_.entry.registers[static_cast<std::size_t>(reg)].type.bits;
  const std::int64_t slot = layout_.slots[static_cast<std::size_t>(reg)];
  std::string name = fmt::format("%r{}.in", reg);
  if (bits == 1) {
    loads_ += fmt::format(
        "  %r{0}.at = getelementptr i8, ptr %r, i64 {1}\n  %r{0}.lanes = load i32, ptr %r{0}.at, align 4\n"
        "  {2} = bitcast i32 %r{0}.lanes to <32 x i1>\n",
        reg, slot, name);
  } else {
    loads_ += fmt::format("  %r{0}.at = getelementptr i8, ptr %r, i64 {1}\n  {2} = load {3}, ptr %r{0}.at, align {4}\n",
                          reg, slot, name, vector_type(bits), kLanes * bits / 8);
  }
  if (is_loop() && std::ranges::binary_search(block_.writes, reg)) {
    loaded_[reg] = name;
    name = fmt::format("%r{}.round", reg);
  }
  return current_[reg] = name;
}

std::string BlockCode::value(const Operand& operand, Type type) {
  using Kind = Operand::Kind;
  switch (operand.kind) {
    case Kind::reg: {
      const int bits = flow_.entry.registers[static_cast<std::size_t>(operand.reg)].type.bits;
      std::string name = read(operand.reg);
      if (bits == type.bits) return name;
      return op("{} {} {} to {}", bits > type.bits ? "trunc" : "zext", vector_type(bits), name, vector_type(type.bits));
    }
    case Kind::integer:
    case Kind::single:
      return integer_splat(operand.bits, type.bits);
    case Kind::real:
      return integer_splat(bits_of(operand, type), type.bits);
    case Kind::special:
      return special_register(*this, operand, type);
    default:
      return symbol_address(*this, operand, type);
  }
}

const std::string& BlockCode::guard() {
  if (guard_value_.empty()) {
    Operand operand;
    operand.kind = Operand::Kind::reg;
    operand.reg = guard_;
    operand.negated = guard_negated_;
    guard_value_ = predicate(operand);
  }
  return guard_value_;
}

std::string BlockCode::predicate(const Operand& operand) {
  if (operand.kind != Operand::Kind::reg) return integer_splat(operand.bits, 1);
  const std::string name = read(operand.reg);
  return operand.negated ? op("xor <32 x i1> {}, splat (i1 true)", name) : name;
}

void BlockCode::write(const Operand& to, const std::string& value, Type type) {
  if (to.kind != Operand::Kind::reg) return;
  const int bits = flow_.entry.registers[static_cast<std::size_t>(to.reg)].type.bits;
  std::string wide = value;
  if (bits != type.bits) {
    wide = op("{} {} {} to {}", type.kind == 's' ? "sext" : "zext", vector_type(type.bits), value, vector_type(bits));
  }
  if (guard_ >= 0) {
    const std::string old = read(to.reg);
    wide = op("select <32 x i1> {0}, {1} {2}, {1} {3}", guard(), vector_type(bits), wide, old);
  }
  current_[to.reg] = wide;
}

void BlockCode::keep_carry(const std::string& value) {
  carry = guard_ < 0 ? value
                     : op("select <32 x i1> {}, <32 x i1> {}, <32 x i1> {}", guard(), value,
                          carry.empty() ? "zeroinitializer" : carry);
}

void BlockCode::write_predicate(const Operand& to, const std::string& value) { write(to, value, {'p', 1}); }

std::string BlockCode::active() {
  if (guard_ < 0) return "%m";
  return op("and i32 %m, {}", lanes_of(guard()));
}

std::string BlockCode::field(std::size_t offset, const char* type) {
  const std::string at = op("getelementptr i8, ptr %c, i64 {}", offset);
  return op("load {}, ptr {}", type, at);
}

void BlockCode::set_field(std::size_t offset, const char* type, const std::string& value) {
  const std::string at = op("getelementptr i8, ptr %c, i64 {}", offset);
  line("store {} {}, ptr {}", type, value, at);
}

std::string BlockCode::splat(const std::string& scalar, int bits) {
  const std::string one = op("insertelement {} poison, i{} {}, i32 0", vector_type(bits), bits, scalar);
  return op("shufflevector {0} {1}, {0} poison, <32 x i32> zeroinitializer", vector_type(bits), one);
}

std::string BlockCode::uniform(const Operand& operand) {
  if (operand.kind == Operand::Kind::integer) return fmt::format("{}", static_cast<std::int32_t>(operand.bits));
  const std::string lanes = value(operand, {'u', 32});
  const std::string first = op("call i32 @llvm.cttz.i32(i32 %m, i1 true)");
  const std::string index = op("and i32 {}, 31", first);
  return op("extractelement <32 x i32> {}, i32 {}", lanes, index);
}

std::string BlockCode::address(const Operand& operand, Space space) {
  const auto offset = static_cast<std::int64_t>(operand.bits);
  if (operand.reg < 0) return symbol_place(*this, operand, space);
  const int bits = flow_.entry.registers[static_cast<std::size_t>(operand.reg)].type.bits;
  std::string base = read(operand.reg);
  if (offset != 0)
    base = op("add {} {}, splat (i{} {})", vector_type(bits), base, bits,
              bits == 32 ? static_cast<std::int32_t>(offset) : offset);
  return bits == 64 ? base : op("zext <32 x i32> {} to <32 x i64>", base);
}

std::string BlockCode::room(int number) { return fmt::format("%room{}", number); }

std::string BlockCode::room_of(int number, int element, int bits) {
  return element == 0 ? room(number)
                      : op("getelementptr i8, ptr {}, i64 {}", room(number), element * kLanes * bits / 8);
}

int BlockCode::site(Site site) {
  site.line = line_;
  layout_.sites.push_back(site);
  return static_cast<int>(layout_.sites.size()) - 1;
}

}  // namespace flashproof::ptx
