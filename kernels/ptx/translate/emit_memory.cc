// Loads, stores and atomics: through the runtime, which checks every lane's address. Parameters at a fixed place are read here.
#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/emit.h"

namespace flashproof::ptx {

Space space_of(const Form& form) {
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {
      {"global", Space::global},      {"shared", Space::shared},    {"shared::cta", Space::shared},
      {"local", Space::local},        {"const", Space::constant},   {"param", Space::param},
      {"param::entry", Space::param}, {"param::func", Space::param}};
  for (const auto& [name, space] : kSpaces) {
    if (form.has(name)) return space;
  }
  return Space::generic;
}

std::vector<Operand> elements(const Operand& operand) {
  return operand.kind == Operand::Kind::vector ? operand.parts : std::vector<Operand>{operand};
}

void store_address(BlockCode& code, const Operand& operand, Space space, int room) {
  code.line("store <32 x i64> {}, ptr {}, align 256", code.address(operand, space), code.room(room));
}

namespace {

Site memory_site(const Form& form) {
  Site site{};
  site.space = space_of(form);
  site.bytes = static_cast<std::uint8_t>(form.type.bytes());
  site.count = static_cast<std::uint8_t>(form.vector_size());
  const std::string& opcode = form.parts[0];
  const bool is_atomic = opcode == "atom" || opcode == "red";
  if (is_atomic || form.has("volatile") || form.has("relaxed") || form.has("acquire") || form.has("release"))
    site.scope = form.has("cta") ? MemoryScope::cta : MemoryScope::gpu;
  site.acquires = form.has("acquire") || form.has("acq_rel");
  site.releases = form.has("release") || form.has("acq_rel");
  site.observes = opcode == "ld" || opcode == "atom";
  return site;
}

/// A parameter by its name: the same for all lanes, inside as the file is translated.
void load_parameter(BlockCode& code, const Form& form, const Instruction& in) {
  const Operand& from = in.operands[1];
  const std::vector<Operand> to = elements(in.operands[0]);
  const auto bytes = static_cast<std::uint64_t>(form.type.bytes()), all = bytes * to.size();
  const auto size = static_cast<std::uint64_t>(code.entry().parameter_bytes);
  std::uint64_t offset = from.bits;  // modulo 2^64
  for (const Variable& parameter : code.entry().parameters) {
    if (parameter.name == from.name) offset += static_cast<std::uint64_t>(parameter.offset);
  }
  if (offset > size || all > size - offset || offset % all != 0) {
    code.complain(
        fmt::format("{}: {} bytes at byte {} of the parameters, legal: inside their {} bytes, a multiple of the size",
                    form.name, all, static_cast<std::int64_t>(offset), size));
  }
  const std::string base = code.field(offsetof(Context, parameters), "ptr");
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::string at = code.op("getelementptr i8, ptr {}, i64 {}", base, offset + bytes * i);
    const std::string scalar = code.op("load i{}, ptr {}, align 1", form.type.bits, at);
    code.write(to[i], code.splat(scalar, form.type.bits), form.type);
  }
}

/// A parameter of a function or of a call, which is local memory: its address into room 0. False if the operand is none.
bool place_call_parameter(BlockCode& code, const Form& form, const Operand& operand) {
  if (operand.reg >= 0 || operand.name.empty()) return false;
  for (const Variable& variable : code.entry().variables) {
    if (variable.name != operand.name || variable.space != Space::param) continue;
    const auto offset = static_cast<std::int64_t>(operand.bits);
    const std::int64_t all = form.type.bytes() * form.vector_size();
    if (offset < 0 || offset > variable.bytes() - all || offset % all != 0 || variable.align % all != 0) {
      code.complain(
          fmt::format("{}: {} bytes at byte {} of a parameter, legal: inside its {} bytes, aligned to the size",
                      form.name, all, offset, variable.bytes()));
    }
    code.line("store <32 x i64> splat (i64 {}), ptr {}, align 256", code.layout().local.at(operand.name) + offset,
              code.room(0));
    return true;
  }
  return false;
}

/// The addresses into room 0, and what is accessed there.
Site place_access(BlockCode& code, const Form& form, const Operand& operand) {
  Site site = memory_site(form);
  if (site.space == Space::param && place_call_parameter(code, form, operand)) {
    site.space = Space::local;
  } else if (site.space == Space::param && form.parts[0] == "st") {
    code.complain(form.name + ": a parameter of a call, by its name, is wanted");
  } else {
    store_address(code, operand, site.space, 0);
  }
  return site;
}

}  // namespace

void emit_load(BlockCode& code, const Form& form, const Instruction& in) {
  const Space space = space_of(form);
  const Operand& from = in.operands[1];
  if (space == Space::param && from.reg < 0 && !from.name.empty()) {
    for (const Variable& parameter : code.entry().parameters) {
      if (parameter.name == from.name) return load_parameter(code, form, in);
    }
  }
  const Site site = place_access(code, form, from);
  code.line("call void @ptx_load(ptr %c, i32 {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0), code.room(1),
            code.site(site));
  const std::vector<Operand> to = elements(in.operands[0]);
  std::vector<std::string> loaded;
  loaded.reserve(to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    loaded.push_back(code.op("load {}, ptr {}, align {}", vector_type(form.type.bits),
                             code.room_of(1, static_cast<int>(i), form.type.bits), kLanes * form.type.bytes()));
  }
  for (std::size_t i = 0; i < to.size(); ++i) code.write(to[i], loaded[i], form.type);
}

void emit_store(BlockCode& code, const Form& form, const Instruction& in) {
  const std::vector<Operand> from = elements(in.operands[1]);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::string value = code.value(from[i], form.type);
    code.line("store {} {}, ptr {}, align {}", vector_type(form.type.bits), value,
              code.room_of(1, static_cast<int>(i), form.type.bits), kLanes * form.type.bytes());
  }
  const Site site = place_access(code, form, in.operands[0]);
  code.line("call void @ptx_store(ptr %c, i32 {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0), code.room(1),
            code.site(site));
}

void emit_policy(BlockCode& code, const Form&, const Instruction& in) {
  code.write(in.operands[0], "zeroinitializer", {'b', 64});
}

void emit_atomic(BlockCode& code, const Form& form, const Instruction& in) {
  static constexpr std::pair<std::string_view, AtomicOperation> kOperations[] = {
      {"add", AtomicOperation::add},       {"min", AtomicOperation::min},     {"max", AtomicOperation::max},
      {"and", AtomicOperation::bit_and},   {"or", AtomicOperation::bit_or},   {"xor", AtomicOperation::bit_xor},
      {"exch", AtomicOperation::exchange}, {"cas", AtomicOperation::compare}, {"inc", AtomicOperation::increment},
      {"dec", AtomicOperation::decrement}};
  Site site = memory_site(form);
  for (const auto& [name, operation] : kOperations) {
    if (form.has(name)) site.operation = static_cast<std::uint8_t>(operation);
  }
  site.is_signed = form.type.kind == 's';
  static constexpr std::pair<std::string_view, AtomicOperation> kSums[] = {{"f64", AtomicOperation::add_f64},
                                                                           {"f32", AtomicOperation::add_f32},
                                                                           {"f16", AtomicOperation::add_f16},
                                                                           {"bf16", AtomicOperation::add_bf16}};
  for (const auto& [name, sum] : kSums) {
    if (form.parts.back().starts_with(name)) site.operation = static_cast<std::uint8_t>(sum);
  }
  const std::size_t first = form.parts[0] == "red" ? 0 : 1;
  const std::string type = vector_type(form.type.bits);
  for (std::size_t i = first + 1; i < in.operands.size(); ++i) {
    const std::string value = code.value(in.operands[i], form.type);
    code.line("store {} {}, ptr {}, align {}", type, value,
              code.room_of(1, static_cast<int>(i - first) - 1, form.type.bits), kLanes * form.type.bytes());
  }
  store_address(code, in.operands[first], site.space, 0);
  code.line("call void @ptx_atomic(ptr %c, i32 {}, ptr {}, ptr {}, ptr {}, i32 {})", code.active(), code.room(0),
            code.room(1), code.room(2), code.site(site));
  if (first == 1) code.write(in.operands[0], code.op("load {}, ptr {}, align 128", type, code.room(2)), form.type);
}

}  // namespace flashproof::ptx
