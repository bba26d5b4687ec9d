// PTX text -> tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flashproof::ptx {

struct Token {
  // word: .reg, %r1, $L__BB0_1, ld.global.v4.u32, %tid.x; number: 12, 0x1F, 0f3F800000, 1U; text: what stood in quotes
  enum class Kind : unsigned char { word, number, text, punctuation, end };
  Kind kind;
  std::string_view text;  // into the source
  int line;
  bool is(std::string_view wanted) const { return kind != Kind::end && kind != Kind::text && text == wanted; }
};

/// "FILE:LINE: what": the one form of every complaint about a file. Never returns.
[[noreturn]] void refuse(std::string_view file, int line, const std::string& what);

/// The part of a hostile text that a message shows.
std::string shown(std::string_view text);

/// The last token is an end. Comments are left out. Throws UsageError.
std::vector<Token> tokens_of(std::string_view file, std::string_view source);

}  // namespace flashproof::ptx
