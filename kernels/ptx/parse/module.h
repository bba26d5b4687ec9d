// A PTX file as data: variables, entries, instructions. Nothing here is translated yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof::ptx {

/// 'b' bits, 'u' unsigned, 's' signed, 'f' floating, 'p' predicate (1 bit). f16, bf16 and the packed types are 'b'.
struct Type {
  char kind = 'b';
  int bits = 32;
  std::int64_t bytes() const { return bits / 8; }
  bool operator==(const Type&) const = default;
};

/// Of "u32", "bf16x2", "pred" and so on, without the dot; nothing for what is no type.
std::optional<Type> type_of(std::string_view name);

enum class Space : std::uint8_t { generic, global, constant, shared, local, param };

/// A variable of the module or of an entry, or a parameter.
struct Variable {
  std::string name;
  Space space = Space::global;
  Type type;
  std::int64_t count = 1;  // elements; 0: as many as the launch gives (extern shared)
  std::int64_t align = 1;
  std::vector<std::byte> initial;  // empty: zeros
  std::int64_t offset = 0;         // in the space of its owner; set by the parser
  int line = 0;
  bool pointer = false;  // .ptr: a parameter that is an address
  std::int64_t bytes() const { return count * type.bytes(); }
};

struct Register {
  std::string name;
  Type type;
};

struct Operand {
  enum class Kind : std::uint8_t { reg, integer, single, real, symbol, special, address, vector, pair, label };
  Kind kind = Kind::integer;
  int reg = -1;                // reg; the base of an address, or -1
  bool negated = false;        // !%p
  std::uint64_t bits = 0;      // an immediate's bits (single: of the f32, real: of the f64); an address's offset
  std::string name;            // symbol, special, label; the base of an address that is no register
  std::vector<Operand> parts;  // vector {a, b}, pair a|b
  bool is_immediate() const { return kind == Kind::integer || kind == Kind::single || kind == Kind::real; }
};

struct Instruction {
  std::string form;  // "fma.rn.ftz.f32"
  int guard = -1;    // register, or -1
  bool guard_negated = false;
  std::vector<Operand> operands;
  int line = 0;                          // of the PTX file
  int source_file = 0, source_line = 0;  // of .loc, 0: none
};

struct Label {
  std::string name;
  std::size_t at;  // index of the instruction that follows
  int line;
};

struct Entry {
  std::string name;
  bool is_function = false;  // .func: not an entry, cannot be launched
  int line = 0;
  std::vector<Variable> parameters, returned;  // returned: of a function
  std::int64_t parameter_bytes = 0;
  std::vector<Variable> variables;  // shared, local, and of calls (param)
  std::vector<Register> registers;
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::uint32_t max_threads = 0;           // .maxntid, .reqntid as a product; 0: not given
  std::uint32_t required_threads[3] = {};  // .reqntid; 0: not given
};

struct Module {
  std::string file;  // as messages name it
  std::string version, target;
  std::vector<Variable> variables;                   // global, constant, shared
  std::vector<Entry> entries;                        // functions with a body as well
  std::vector<std::pair<int, std::string>> sources;  // .file
};

/// What a file may ask for. A file beyond it is refused by name.
inline constexpr std::size_t kMaxFileBytes = 64u << 20;
inline constexpr std::size_t kMaxTokens = 8u << 20;  // of 32 bytes
inline constexpr std::size_t kMaxRegisters = 65536;
inline constexpr std::size_t kMaxInstructions = 200000;
inline constexpr std::size_t kMaxFileRegisters = 1 << 19;  // of all its functions
inline constexpr std::size_t kMaxVariables = 16384;        // of the file, parameters aside
inline constexpr std::int64_t kMaxVariableBytes =
    64 << 20;  // of all global and constant variables, or of one thread's local memory
inline constexpr std::int64_t kMaxSharedBytes = 227 << 10;  // static and dynamic together, of one block
inline constexpr std::int64_t kMaxParameterBytes = 32764;

}  // namespace flashproof::ptx
