#include "kernels/ptx/map/address.h"

#include <algorithm>

namespace flashproof::ptx {
namespace {

using Kind = Operand::Kind;

bool names(const Operand& operand, int reg) {
  return (operand.kind == Kind::reg && operand.reg == reg) ||
         std::ranges::any_of(operand.parts, [&](const Operand& part) { return names(part, reg); });
}

/// What an instruction writes comes first; of a store that is an address.
bool writes(const Instruction& one, int reg) { return !one.operands.empty() && names(one.operands[0], reg); }

/// The register of "ld.param.u64 REG, [NAME]", or -1.
int loaded_from(const Instruction& one, const std::string& name) {
  if (!one.form.starts_with("ld.param.") || one.operands.size() != 2) return -1;
  const Operand &to = one.operands[0], &from = one.operands[1];
  const bool whole = from.kind == Kind::address && from.reg < 0 && from.bits == 0 && from.name == name;
  return whole && to.kind == Kind::reg ? to.reg : -1;
}

bool has_for_address(const Instruction& one, int reg) {
  if (one.form.starts_with("cvta.")) return one.operands.size() == 2 && names(one.operands[1], reg);
  return std::ranges::any_of(one.operands, [&](const Operand& o) { return o.kind == Kind::address && o.reg == reg; });
}

}  // namespace

bool is_address(const Entry& entry, std::size_t parameter) {
  const Variable& variable = entry.parameters.at(parameter);
  if (variable.count != 1 || variable.type.bits != 64) return false;
  if (variable.pointer) return true;
  const auto& all = entry.instructions;
  return std::ranges::any_of(all, [&](const Instruction& load) {
    const int reg = loaded_from(load, variable.name);
    return reg >= 0 && std::ranges::count_if(all, [&](const Instruction& one) { return writes(one, reg); }) == 1 &&
           std::ranges::any_of(all, [&](const Instruction& one) { return has_for_address(one, reg); });
  });
}

}  // namespace flashproof::ptx
