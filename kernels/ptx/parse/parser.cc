// What stands outside of braces: directives, variables, entries and functions. Bodies: body_parser.cc.
#include "kernels/ptx/parse/parser.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "kernels/ptx/parse/body_parser.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"

namespace flashproof::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(std::string_view file, std::string_view source) : reader_(file, tokens_of(file, source)) {
    module_.file = file;
  }

  Module parse() {
    while (!reader_.at_end()) statement();
    if (module_.version.empty()) reader_.complain_at(1, "no .version: this is no PTX");
    return std::move(module_);
  }

 private:
  void statement() {
    if (reader_.accept(";")) return;
    if (reader_.accept(".version")) return version();
    if (module_.version.empty()) reader_.complain("no .version before the first statement: this is no PTX");
    if (reader_.accept(".target")) return target();
    if (reader_.accept(".address_size")) {
      reader_.expect_count("address size", 64, 64);
    } else if (reader_.accept(".file")) {
      source_file();
    } else if (reader_.accept(".section")) {
      reader_.skip_over("{");
      reader_.skip_block();
    } else if (reader_.accept(".pragma") || reader_.accept(".alias")) {
      reader_.skip_over(";");
    } else {
      declaration();
    }
  }

  void version() {
    const Token number = reader_.take();
    if (number.text.size() != 3 || number.text < "7.0" || number.text > "9.9") {
      reader_.complain_at(number.line, fmt::format("PTX version '{}', legal: 7.0 to 9.9", shown(number.text)));
    }
    module_.version = number.text;
  }

  void target() {
    do {
      const std::string_view name = reader_.expect_word("a target");
      if (module_.target.empty()) module_.target = shown(name);
    } while (reader_.accept(","));
  }

  void source_file() {
    const auto number = static_cast<int>(reader_.expect_count("number of a source file", 0, 1 << 20));
    const Token name = reader_.take();
    if (name.kind != Token::Kind::text) reader_.complain_at(name.line, "a file name in quotes expected");
    module_.sources.emplace_back(number, std::string(name.text.substr(1, name.text.size() - 2)));
    if (reader_.accept(",")) {  // time stamp and size
      reader_.take();
      reader_.expect(",", "between time stamp and size of a file");
      reader_.take();
    }
  }

  void declaration() {
    bool is_extern = false;
    while (true) {
      if (reader_.accept(".extern")) {
        is_extern = true;
      } else if (!reader_.accept(".visible") && !reader_.accept(".weak") && !reader_.accept(".common")) {
        break;
      }
    }
    const Token word = reader_.take();
    if (word.is(".entry") || word.is(".func")) return function(word.is(".func"), word.line);
    for (const auto& [directive, space] :
         {std::pair{".global", Space::global}, {".const", Space::constant}, {".shared", Space::shared}}) {
      if (word.is(directive)) return variables(space, is_extern);
    }
    reader_.complain_at(word.line, fmt::format("'{}' does not start a statement here", shown(word.text)));
  }

  void variables(Space space, bool is_extern) {
    for (Variable& variable : parse_variables(reader_, space)) {
      count_variable(reader_, sizes_);
      if (!names_.insert(variable.name).second)
        reader_.complain(fmt::format("{} is declared twice", shown(variable.name)));
      if (variable.count == 0 && !(is_extern && space == Space::shared)) {
        reader_.complain(fmt::format("{} has no size", shown(variable.name)));
      }
      if (is_extern && space != Space::shared) {
        reader_.complain(fmt::format("{} is defined in another file, which there is none of", shown(variable.name)));
      }
      if (space == Space::global || space == Space::constant) {
        image_ = align_up(image_, variable.align);
        variable.offset = image_;
        image_ += variable.bytes();
        if (image_ > kMaxVariableBytes) {
          reader_.complain(fmt::format("more than {} bytes of global and constant variables", kMaxVariableBytes));
        }
      }
      module_.variables.push_back(std::move(variable));
    }
  }

  void function(bool is_function, int line) {
    Entry entry;
    entry.is_function = is_function;
    entry.line = line;
    if (is_function && reader_.accept("(")) parse_parameters(reader_, entry.returned);
    entry.name = reader_.expect_word("the name of an entry");
    if (reader_.accept("(")) entry.parameter_bytes = parse_parameters(reader_, entry.parameters);
    while (!reader_.peek().is("{") && !reader_.peek().is(";")) entry_directive(entry);
    if (reader_.accept(";")) {
      if (!is_function) reader_.complain_at(line, fmt::format("entry {} has no body", shown(entry.name)));
      return;
    }
    if (!names_.insert(entry.name).second)
      reader_.complain_at(line, fmt::format("{} is declared twice", shown(entry.name)));
    reader_.expect("{", "before the body of an entry");
    parse_body(reader_, entry, sizes_);
    module_.entries.push_back(std::move(entry));
  }

  void entry_directive(Entry& entry) {
    const Token word = reader_.take();
    const bool required = word.is(".reqntid");
    if (required || word.is(".maxntid")) {
      std::int64_t sizes[3] = {1, 1, 1};
      for (int i = 0; i < 3 && (i == 0 || reader_.accept(",")); ++i)
        sizes[i] = reader_.expect_count("threads", 1, 1024);
      entry.max_threads = static_cast<std::uint32_t>(sizes[0] * sizes[1] * sizes[2]);
      for (int i = 0; required && i < 3; ++i) entry.required_threads[i] = static_cast<std::uint32_t>(sizes[i]);
    } else if (word.is(".minnctapersm") || word.is(".maxnreg") || word.is(".maxnctapersm")) {
      reader_.expect_count(word.text.substr(1), 0, 1 << 20);
    } else if (word.is(".reqnctapercluster")) {
      for (int i = 0; i < 3 && (i == 0 || reader_.accept(",")); ++i) {
        if (reader_.expect_count("blocks", 1, 1024) != 1)
          reader_.complain_at(word.line, ".reqnctapercluster: clusters of more than one block are not known here");
      }
    } else if (word.is(".maxclusterrank")) {
      reader_.expect_count("blocks", 1, 1024);
    } else if (word.is(".pragma")) {
      reader_.skip_over(";");
    } else if (!word.is(".explicitcluster") && !word.is(".noreturn")) {
      reader_.complain_at(word.line, fmt::format("entry directive '{}' is not known here", shown(word.text)));
    }
  }

  TokenReader reader_;
  Module module_;
  std::set<std::string, std::less<>> names_;
  std::int64_t image_ = 0;
  FileSizes sizes_;
};

}  // namespace

std::optional<Type> type_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"pred", {'p', 1}},  {"b8", {'b', 8}},      {"u8", {'u', 8}},      {"s8", {'s', 8}},     {"b16", {'b', 16}},
      {"u16", {'u', 16}},  {"s16", {'s', 16}},    {"f16", {'b', 16}},    {"bf16", {'b', 16}},  {"b32", {'b', 32}},
      {"u32", {'u', 32}},  {"s32", {'s', 32}},    {"f32", {'f', 32}},    {"f16x2", {'b', 32}}, {"bf16x2", {'b', 32}},
      {"b64", {'b', 64}},  {"u64", {'u', 64}},    {"s64", {'s', 64}},    {"f64", {'f', 64}},   {"b128", {'b', 128}},
      {"tf32", {'b', 32}}, {"e4m3x2", {'b', 16}}, {"e5m2x2", {'b', 16}},
  };
  for (const auto& [text, type] : kTypes) {
    if (text == name) return type;
  }
  return std::nullopt;
}

Module parse(std::string_view file, std::string_view source) { return ModuleParser(file, source).parse(); }

Module parse_file(const std::string& path) {
  const std::string source = read_file(path, kMaxFileBytes);
  if (source.empty()) throw UsageError(shown(path) + ": is empty");
  return parse(shown(path), source);
}

}  // namespace flashproof::ptx
