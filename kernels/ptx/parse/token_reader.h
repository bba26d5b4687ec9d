// A cursor over tokens with what both halves of the parser ask of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

class TokenReader {
 public:
  TokenReader(std::string_view file, std::vector<Token> tokens) : file_(file), tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool at_end() const { return peek().kind == Token::Kind::end; }
  int line() const { return peek().line; }
  std::size_t position() const { return at_; }

  /// Takes it if it is there.
  bool accept(std::string_view text);
  /// Takes it or refuses; `where` ends the complaint: "in a register declaration".
  void expect(std::string_view text, std::string_view where);
  std::string_view expect_word(std::string_view what);
  /// An unsigned number in [low, high].
  std::int64_t expect_count(std::string_view what, std::int64_t low, std::int64_t high);
  /// A literal, with its sign: integer, single or real.
  Operand expect_literal(std::string_view what);
  /// Up to and over the next `end`; braces inside must match.
  void skip_over(std::string_view end);
  /// Up to the first token of another line.
  void skip_line();
  /// Behind the '{' just taken, over the matching '}'.
  void skip_block();

  [[noreturn]] void complain(const std::string& what) const { refuse(file_, line(), what); }
  [[noreturn]] void complain_at(int line, const std::string& what) const { refuse(file_, line, what); }

 private:
  std::string_view file_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

/// The bits of an element of this type. Complains where an integer does not fit or the kind is wrong.
std::uint64_t bits_of(const Operand& literal, Type type);

}  // namespace flashproof::ptx
