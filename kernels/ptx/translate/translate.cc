#include "kernels/ptx/translate/translate.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "kernels/ptx/parse/body_parser.h"
#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/special_functions.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

void place_registers(const Flow& flow, Layout& layout) {
  layout.slots.assign(flow.across.size(), -1);
  for (const bool predicates : {false, true}) {  // predicates, 4 bytes, behind the vectors
    for (std::size_t i = 0; i < flow.across.size(); ++i) {
      const int bits = flow.entry.registers[i].type.bits;
      if (!flow.across[i] || (bits == 1) != predicates) continue;
      const std::int64_t bytes = predicates ? 4 : kLanes * bits / 8;
      layout.register_bytes = align_up(layout.register_bytes, bytes);
      layout.slots[i] = layout.register_bytes;
      layout.register_bytes += bytes;
    }
  }
  layout.register_bytes = align_up(layout.register_bytes, 256);
}

void add_symbols(const Operand& operand, std::set<std::string>& names) {
  if (operand.reg < 0 && !operand.name.empty()) names.insert(operand.name);
  for (const Operand& part : operand.parts) add_symbols(part, names);
}

/// Static variables first; those whose size the launch gives all start behind them.
void place_memory(const Module& module, const Flow& flow, Layout& layout) {
  std::set<std::string> used;
  for (const Instruction& instruction : flow.entry.instructions) {
    for (const Operand& operand : instruction.operands) add_symbols(operand, used);
  }
  const auto add = [](const Variable& variable, std::map<std::string, std::int64_t, std::less<>>& offsets,
                      std::int64_t& bytes) {
    bytes = align_up(bytes, variable.align);
    offsets[variable.name] = bytes;
    bytes += variable.bytes();
  };
  std::int64_t dynamic_align = 16;
  for (const Variable& variable : flow.entry.variables) {
    if (variable.space == Space::shared) add(variable, layout.shared, layout.static_shared_bytes);
    if (variable.space == Space::local || variable.space == Space::param)
      add(variable, layout.local, layout.local_bytes);
  }
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::shared || !used.contains(variable.name)) continue;
    if (variable.count != 0) {
      add(variable, layout.shared, layout.static_shared_bytes);
    } else {
      dynamic_align = std::max(dynamic_align, variable.align);
    }
  }
  layout.static_shared_bytes = align_up(layout.static_shared_bytes, dynamic_align);
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared && variable.count == 0)
      layout.shared[variable.name] = layout.static_shared_bytes;
  }
  layout.local_bytes = align_up(layout.local_bytes, 16);
  if (layout.static_shared_bytes > kMaxSharedBytes) {
    refuse(module.file, flow.entry.line,
           fmt::format("{} bytes of static shared memory, legal: at most {}", layout.static_shared_bytes,
                       kMaxSharedBytes));
  }
  if (layout.local_bytes > (512 << 10)) {
    refuse(module.file, flow.entry.line,
           fmt::format("{} bytes of local memory of a thread, legal: at most {}", layout.local_bytes, 512 << 10));
  }
}

constexpr const char* kDeclarations =
    "declare void @ptx_load(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_store(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_atomic(ptr, i32, ptr, ptr, ptr, i32)\n"
    "declare i32 @ptx_meet(ptr, i32, ptr, i32)\n"
    "declare i32 @ptx_shuffle(ptr, i32, i32, ptr, ptr, i32)\n"
    "declare void @ptx_shuffle_fault(ptr, i32, i32)\n"
    "declare void @ptx_reduce(i32, i32, i32, ptr, ptr)\n"
    "declare void @ptx_mma(ptr, i32, ptr, ptr, ptr, ptr, i32)\n"
    "declare void @ptx_ldmatrix(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_stmatrix(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_copy_async(ptr, i32, ptr, ptr, ptr, i32)\n"
    "declare void @ptx_copies_commit(ptr, i32)\n"
    "declare void @ptx_copies_wait(ptr, i32, i32)\n"
    "declare void @ptx_mbarrier(ptr, i32, ptr, ptr, ptr, i32)\n"
    "declare i32 @ptx_mbarrier_wait(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_bulk_copy(ptr, i32, ptr, ptr, i32)\n"
    "declare void @ptx_bulk_commit(ptr, i32)\n"
    "declare void @ptx_bulk_wait(ptr, i32, i32, i32)\n"
    "declare void @ptx_wgmma(ptr, i32, ptr, ptr, ptr, i32, i32)\n"
    "declare void @ptx_wgmma_commit(ptr)\n"
    "declare void @ptx_wgmma_wait(ptr, i32)\n"
    "declare void @ptx_wgmma_early(ptr, i32, i32)\n"
    "declare void @ptx_cluster_rank(ptr, i32, ptr, i32)\n"
    "declare void @ptx_fence_proxy(ptr, i32)\n"
    "declare void @ptx_pass(ptr, i32, i64, i64, i64)\n"
    "declare void @ptx_print(ptr, i32, i64, i64, i64, i32)\n"
    "declare void @ptx_assert_fail(ptr, i32, i64, i64, i64, i64, i32)\n"
    "declare void @ptx_lanes_u32(i32, ptr, ptr)\n"
    "declare void @ptx_lanes_s32(i32, ptr, ptr)\n"
    "declare void @ptx_lanes_u64(i32, ptr, ptr)\n"
    "declare void @ptx_lanes_s64(i32, ptr, ptr)\n"
    "declare void @ptx_rounded_f32(i32, i32, ptr, ptr)\n"
    "declare void @ptx_rounded_f64(i32, i32, ptr, ptr)\n"
    "declare void @ptx_narrow_f32_to_fp8(i32, i32, ptr, ptr)\n"
    "declare void @ptx_narrow_f16_to_fp8(i32, i32, ptr, ptr)\n"
    "declare void @ptx_widen_fp8(i32, i32, ptr, ptr)\n"
    "declare void @ptx_trap(ptr, i32, i32)\n"
    "declare void @ptx_fence(ptr, i32, i32)\n"
    "declare void @ptx_order_lanes(ptr)\n";

}  // namespace

Translation translate(const Module& module, const Entry& entry) {
  Translation made;
  made.file = module.file;
  made.sources = module.sources;
  made.flow = flow_of(module, entry);
  place_registers(made.flow, made.layout);
  place_memory(module, made.flow, made.layout);
  std::string table;
  for (std::size_t b = 0; b < made.flow.blocks.size(); ++b) {
    BlockCode code(module, made.flow, made.layout, static_cast<int>(b));
    code.emit_body();
    made.ir += code.function();
    table += fmt::format("{}ptr @b{}", b == 0 ? "" : ", ", b);
    made.targets.push_back(made.flow.blocks[b].target);
  }
  for (const auto& [name, function] : made.layout.outlined) made.ir += function;
  for (const SpecialFunction& function : special_functions())
    made.ir += fmt::format("declare void @{}(ptr, ptr)\n", function.symbol);
  made.ir += kDeclarations;
  made.ir += fmt::format("@blocks = constant [{} x ptr] [{}]\n", made.flow.blocks.size(), table);
  return made;
}

std::string Translation::place(int line) const {
  std::string here = fmt::format("{}:{}", file, line);
  const auto instruction = std::ranges::find_if(
      flow.entry.instructions, [&](const Instruction& each) { return each.line == line && each.source_line != 0; });
  if (instruction == flow.entry.instructions.end()) return here;
  const auto source = std::ranges::find(sources, instruction->source_file, &std::pair<int, std::string>::first);
  if (source == sources.end()) return here;
  const std::string name = source->second.substr(source->second.rfind('/') + 1);
  return fmt::format("{} ({}:{})", here, shown(name), instruction->source_line);
}

std::string source_name(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > 4096) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0) return name;
  std::string_view made = text.get();  // "void f<float, 64>(float*)": a template has its result in front
  if (made.starts_with("void ")) made.remove_prefix(5);
  std::size_t end = made.rfind(')');  // of the parameters, which may hold other parentheses
  for (int open = end == std::string_view::npos ? 0 : 1; open > 0 && end > 0;) {
    --end;
    open += made[end] == ')' ? 1 : made[end] == '(' ? -1 : 0;
  }
  return std::string(made.substr(0, end));
}

const Entry& find_entry(const Module& module, std::string_view name) {
  std::vector<const Entry*> entries;
  std::string names;
  for (const Entry& entry : module.entries) {
    if (entry.is_function) continue;
    if (entry.name == name) return entry;
    entries.push_back(&entry);
    if (entries.size() <= 8) names += (names.empty() ? "" : ", ") + shown(entry.name);
  }
  const auto is_named = [&](const Entry* entry) { return source_name(entry->name) == name; };
  const auto found = std::ranges::find_if(entries, is_named);
  if (found != entries.end() && std::ranges::count_if(entries, is_named) == 1) return **found;
  if (entries.empty()) throw UsageError(module.file + ": no entry in it");
  if (name.empty() && entries.size() == 1) return *entries[0];
  if (entries.size() > 8) names += fmt::format(" and {} more", entries.size() - 8);
  throw UsageError(fmt::format("{}: entry '{}', there are: {}", module.file, shown(name), names));
}

}  // namespace flashproof::ptx
