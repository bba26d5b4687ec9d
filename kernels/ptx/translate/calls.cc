#include "kernels/ptx/translate/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/translate/cuts.h"

namespace flashproof::ptx {
namespace {

constexpr std::size_t kMaxDepth = 64;  // of calls in calls

bool is_call(const Instruction& instruction) { return instruction.form == "call" || instruction.form == "call.uni"; }

/// "call (results), function, (arguments)"; without results or arguments where the function has none.
struct Call {
  std::vector<Operand> results, arguments;
  std::string function;
};

Call call_of(const std::string& file, const Instruction& instruction) {
  Call call;
  auto at = instruction.operands.begin();
  const auto end = instruction.operands.end();
  if (at != end && at->kind == Operand::Kind::vector) call.results = (at++)->parts;
  if (at == end || at->kind != Operand::Kind::symbol || at->bits != 0)
    refuse(file, instruction.line,
           instruction.form + ": the name of a function is wanted, calls by address are not known here");
  call.function = (at++)->name;
  if (at != end && at->kind == Operand::Kind::vector) call.arguments = (at++)->parts;
  if (at != end)
    refuse(file, instruction.line, instruction.form + ": more operands than results, function and arguments");
  return call;
}

const Entry* find_function(const Module& module, std::string_view name) {
  const auto found =
      std::ranges::find_if(module.entries, [&](const Entry& entry) { return entry.is_function && entry.name == name; });
  return found == module.entries.end() ? nullptr : &*found;
}

Variable passed_value(int bits) {
  Variable variable;
  variable.space = Space::param;
  variable.type = {'b', bits};
  return variable;
}

/// printf and assert of device code call these ("Formatted Output" and "Assertion" in the CUDA Programming Guide); nvcc and clang declare
/// them without a body. Null: no function of the driver, or none that is known here.
const Entry* find_driver_function(std::string_view name) {
  static const std::vector<Entry> functions = [] {
    std::vector<Entry> made(2);
    made[0].name = "vprintf";  // format, arguments
    for (const int bits : {64, 64}) made[0].parameters.push_back(passed_value(bits));
    made[0].returned.push_back(passed_value(32));
    made[1].name = "__assertfail";  // message, file, line, function, bytes of a character
    for (const int bits : {64, 64, 32, 64, 64}) made[1].parameters.push_back(passed_value(bits));
    return made;
  }();
  const auto found = std::ranges::find(functions, name, &Entry::name);
  return found == functions.end() ? nullptr : &*found;
}

/// Callees first.
class Reached {
 public:
  explicit Reached(const Module& module) : module_(module) {}

  void visit(const Entry& entry) {
    open_.push_back(&entry);
    for (const Instruction& instruction : entry.instructions) {
      if (is_call(instruction)) visit_called(instruction);
    }
    open_.pop_back();
    list.push_back(&entry);
  }

  std::vector<const Entry*> list;

 private:
  void visit_called(const Instruction& instruction) {
    const std::string name = call_of(module_.file, instruction).function;
    const Entry* function = find_function(module_, name);
    const auto complain = [&](const char* what) {
      refuse(module_.file, instruction.line, fmt::format("{}: '{}' {}", instruction.form, shown(name), what));
    };
    if (function == nullptr && find_driver_function(name) != nullptr) return;
    if (function == nullptr) complain("is no function of this file");
    if (std::ranges::find(open_, function) != open_.end()) complain("calls itself, which is not known here");
    if (open_.size() == kMaxDepth) complain("is called too deeply, legal: 64 calls in one another");
    if (std::ranges::find(list, function) == list.end()) visit(*function);
  }

  const Module& module_;
  std::vector<const Entry*> open_;
};

std::string start_label(const Entry& function) { return "start of " + function.name; }

/// Appends one function after the other to the entry that is made.
class Joiner {
 public:
  /// `root`: what calls and is not called, a kernel as a rule.
  Joiner(const Module& module, const Entry& root, Entry& made) : module_(module), root_(root), made_(made) {}

  void add(const Entry& from) {
    from_ = &from;
    called_ = &from != &root_;
    register_base_ = static_cast<int>(made_.registers.size());
    made_.registers.insert(made_.registers.end(), from.registers.begin(), from.registers.end());
    add_variables();
    made_.labels.push_back({called_ ? start_label(from) : kStartLabel, made_.instructions.size(), from.line});
    check_size(made_.registers.size(), kMaxRegisters, "registers");
    const std::size_t base = made_.instructions.size();
    for (const Label& label : from.labels) made_.labels.push_back({own(label.name), base + label.at, label.line});
    check_size(base + from.instructions.size(), kMaxTranslatedInstructions, "instructions");
    for (const Instruction& instruction : from.instructions) add(instruction);
    if (!called_) return;
    Instruction last;  // what runs over the end returns as well
    last.form = "ret";
    last.line = from.line;
    add(last);
  }

 private:
  void check_size(std::size_t count, std::size_t most, const char* what) const {
    if (count > most) {
      refuse(module_.file, root_.line,
             fmt::format("{}: {} {}{}, legal: at most {}", shown(root_.name), count, what,
                         called_ || made_.labels.size() > 1 ? " with its functions" : "", most));
    }
  }

  /// A name that only this function has.
  std::string own(const std::string& name) const { return called_ ? fmt::format("{} of {}", name, from_->name) : name; }

  void add_variables() {
    own_names_.clear();
    const auto put = [&](Variable variable) {
      own_names_.insert(variable.name);
      variable.name = own(variable.name);
      made_.variables.push_back(std::move(variable));
    };
    for (const Variable& variable : from_->variables) put(variable);
    if (!called_) return;
    for (const Variable& variable : from_->parameters) put(variable);
    for (const Variable& variable : from_->returned) put(variable);
    way_back_.kind = Operand::Kind::reg;
    way_back_.reg = static_cast<int>(made_.registers.size());
    made_.registers.push_back({start_label(*from_), {'b', 32}});
    ways_back_.emplace_back(from_, way_back_);
  }

  void rename(Operand& operand) const {
    if (operand.reg >= 0) operand.reg += register_base_;
    const bool named = operand.kind == Operand::Kind::label ||
                       (operand.reg < 0 && !operand.name.empty() && own_names_.contains(operand.name));
    if (named) operand.name = own(operand.name);
    for (Operand& part : operand.parts) rename(part);
  }

  void add(Instruction instruction) {
    if (instruction.guard >= 0) instruction.guard += register_base_;
    if (is_call(instruction)) {
      make_call(instruction);
    } else {
      for (Operand& operand : instruction.operands) rename(operand);
      if (called_) check_in_function(instruction);
    }
    made_.instructions.push_back(std::move(instruction));
  }

  void check_in_function(Instruction& instruction) const {
    const std::string& form = instruction.form;
    if (form == "ret" || form == "ret.uni") {
      instruction.form = kReturn;
      instruction.operands = {way_back_};
    }
    const bool parameter = form.starts_with("ld.param") && instruction.operands.size() == 2;
    if (parameter && (instruction.operands[1].reg >= 0 || instruction.operands[1].name.empty()))
      refuse(module_.file, instruction.line, form + ": a function's parameter by address is not known here");
  }

  void make_call(Instruction& instruction) {
    Call call = call_of(module_.file, instruction);
    const Entry* function = find_function(module_, call.function);
    if (function == nullptr) {
      function = find_driver_function(call.function);
      instruction.form = function->name + kDriverCall;
      instruction.operands = {passed(instruction, call.arguments, *function, function->parameters, "arguments"),
                              passed(instruction, call.results, *function, function->returned, "results")};
      return;
    }
    Operand label;
    label.kind = Operand::Kind::label;
    label.name = start_label(*function);
    const auto way_back = std::ranges::find(ways_back_, function, &std::pair<const Entry*, Operand>::first);
    instruction.operands = {label, way_back->second,
                            passed(instruction, call.arguments, *function, function->parameters, "arguments"),
                            passed(instruction, call.results, *function, function->returned, "results")};
    instruction.form = kCall;
  }

  /// A vector of pairs: the variable here, the function's.
  Operand passed(const Instruction& instruction, std::vector<Operand>& given, const Entry& function,
                 const std::vector<Variable>& wanted, const char* what) const {
    if (given.size() != wanted.size()) {
      refuse(module_.file, instruction.line,
             fmt::format("call of {}: {} {}, wanted {}", shown(function.name), given.size(), what, wanted.size()));
    }
    Operand all;
    all.kind = Operand::Kind::vector;
    for (std::size_t i = 0; i < given.size(); ++i) {
      rename(given[i]);
      const auto here = std::ranges::find(made_.variables, given[i].name, &Variable::name);
      if (given[i].kind != Operand::Kind::symbol || given[i].bits != 0 || here == made_.variables.end() ||
          here->space != Space::param || here->bytes() != wanted[i].bytes()) {
        refuse(module_.file, instruction.line,
               fmt::format("call of {}: {} {}: a variable in .param of {} bytes is wanted", shown(function.name), what,
                           i + 1, wanted[i].bytes()));
      }
      Operand pair;
      pair.kind = Operand::Kind::pair;
      pair.parts = {given[i], given[i]};
      pair.parts[1].name = fmt::format("{} of {}", wanted[i].name, function.name);
      pair.bits = static_cast<std::uint64_t>(wanted[i].bytes());
      all.parts.push_back(std::move(pair));
    }
    return all;
  }

  const Module& module_;
  const Entry& root_;
  Entry& made_;
  const Entry* from_ = nullptr;
  bool called_ = false;
  int register_base_ = 0;
  std::set<std::string, std::less<>> own_names_;
  Operand way_back_;
  std::vector<std::pair<const Entry*, Operand>> ways_back_;
};

}  // namespace

std::vector<const Entry*> reached_functions(const Module& module, const Entry& entry) {
  Reached reached(module);
  reached.visit(entry);
  return std::move(reached.list);
}

Entry with_functions(const Module& module, const Entry& entry) {
  Entry made = entry;
  made.registers.clear();
  made.variables.clear();
  made.instructions.clear();
  made.labels.clear();
  Joiner joiner(module, entry, made);
  for (const Entry* part : reached_functions(module, entry)) joiner.add(*part);
  cut_long_code(made);
  return made;
}

}  // namespace flashproof::ptx
