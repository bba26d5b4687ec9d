// LLVM IR, as text, of one block of an entry over the 32 lanes of a warp. A register is a vector of 32 integers of its width
// (floats by their bits), a predicate 32 times i1, a set of lanes an i32.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "kernels/ptx/translate/context.h"
#include "kernels/ptx/translate/flow.h"

namespace flashproof::ptx {

/// Where a register lies between blocks, and the sites, of one entry.
struct Layout {
  std::vector<std::int64_t> slots;  // by register; -1: it never leaves a block
  std::int64_t register_bytes = 0;  // of a warp
  std::map<std::string, std::int64_t, std::less<>> shared, local;
  std::int64_t static_shared_bytes = 0, local_bytes = 0;
  std::vector<Site> sites;
  std::map<std::string, std::string> outlined;  // by name, functions of forms; empty: the form stands where it is used
};

std::string vector_type(int bits);  // "<32 x i32>"; 1: "<32 x i1>"
/// The number in every lane, as a constant.
std::string integer_splat(std::uint64_t bits, int width);

class BlockCode {
 public:
  BlockCode(const Module& module, const Flow& flow, Layout& layout, int number);

  const std::string& file() const { return module_.file; }
  const Module& module() const { return module_; }
  const Layout& layout() const { return layout_; }
  const Entry& entry() const { return flow_.entry; }
  int number() const { return number_; }

  /// "%t7", defined by the line `%t7 = ...`.
  template <class... T>
  std::string op(fmt::format_string<T...> format, T&&... values) {
    const std::string name = fmt::format("%t{}", next_++);
    text_ += fmt::format("  {} = ", name) + fmt::format(format, std::forward<T>(values)...) + "\n";
    return name;
  }
  template <class... T>
  void line(fmt::format_string<T...> format, T&&... values) {
    text_ += "  " + fmt::format(format, std::forward<T>(values)...) + "\n";
  }
  void label(const std::string& name) { text_ += name + ":\n"; }
  std::string new_label() { return fmt::format("l{}", next_++); }

  /// The guard of what follows, and the line that complaints name.
  void begin(const Instruction& instruction);
  [[noreturn]] void complain(const std::string& what) const;

  /// A register, an immediate or (of what x stands for in forms.h) an address, as integers of the type's width.
  std::string value(const Operand& operand, Type type);
  std::string predicate(const Operand& operand);
  /// Integers of the type's width into the register, widened if it is wider; under the guard. A '_' takes nothing.
  void write(const Operand& to, const std::string& value, Type type);
  void write_predicate(const Operand& to, const std::string& value);

  /// An address in the space as "<32 x i64>".
  std::string address(const Operand& operand, Space space);
  /// Lanes that execute the instruction, as i32.
  std::string active();
  /// A field of the context, e.g. i32.
  std::string field(std::size_t offset, const char* type);
  void set_field(std::size_t offset, const char* type, const std::string& value);
  std::string splat(const std::string& scalar, int bits);
  /// The operand's value in the first lane that is here: of barriers.
  std::string uniform(const Operand& operand);

  std::string lanes_of(const std::string& predicate) { return op("bitcast <32 x i1> {} to i32", predicate); }
  std::string predicate_of(const std::string& lanes) { return op("bitcast i32 {} to <32 x i1>", lanes); }

  /// Room of 32 x 128 elements of 32 bits there, of the sums of wgmma.
  static constexpr const char* kSums = "%sums";
  /// Room of 32 x 4 elements of 64 bits in the function's frame; there are four.
  std::string room(int number);
  std::string room_of(int number, int element, int bits);  // a pointer to the element-th vector there
  int site(Site site);
  int line_number() const { return line_; }

  /// The whole function, once body and end are emitted.
  std::string function();
  void emit_body();
  /// A function of the instruction alone, which takes its registers' memory: translate/outlined.h.
  std::string function_of(const Form& form, const Instruction& instruction, const std::string& name);
  /// Of the last instruction with .cc in this block; empty: there was none. "<32 x i1>"
  std::string carry;
  void keep_carry(const std::string& value);  // of lanes whose guard is true
  std::map<std::string, std::string>& outlined() { return layout_.outlined; }

 private:
  std::string read(int reg);
  /// The lanes whose guard is true in front of the instruction, which may write the guard itself.
  const std::string& guard();
  void emit_end();
  void emit_jump(const std::string& taken_code, const std::string& mixed_code);
  void store_live();
  bool is_loop() const;

  const Module& module_;
  const Flow& flow_;
  Layout& layout_;
  const Block& block_;
  int number_;
  int next_ = 0;
  int line_ = 0;
  int guard_ = -1;
  bool guard_negated_ = false;
  std::string guard_value_;  // empty: not asked for yet
  std::string text_, loads_;
  std::map<int, std::string> current_, loaded_;
};

}  // namespace flashproof::ptx
