#include "kernels/ptx/parse/lexer.h"

#include <fmt/format.h>

#include "kernels/ptx/parse/module.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool starts_word(char c) { return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool continues_word(char c) { return starts_word(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

class Lexer {
 public:
  Lexer(std::string_view file, std::string_view source) : file_(file), source_(source) {}

  std::vector<Token> all() {
    std::vector<Token> tokens;
    tokens.reserve(source_.size() / 5);
    do {
      if (tokens.size() == kMaxTokens) {
        refuse(file_, line_, fmt::format("more than {} words, numbers and signs", kMaxTokens));
      }
      tokens.push_back(next());
    } while (tokens.back().kind != Token::Kind::end);
    return tokens;
  }

 private:
  bool at(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  void skip_blanks() {
    while (at_ < source_.size()) {
      if (is_space(source_[at_])) {
        line_ += source_[at_++] == '\n' ? 1 : 0;
      } else if (at("//")) {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (at("/*")) {
        const std::size_t end = source_.find("*/", at_);
        if (end == std::string_view::npos) refuse(file_, line_, "a comment without its end");
        for (; at_ < end + 2; ++at_) line_ += source_[at_] == '\n' ? 1 : 0;
      } else {
        return;
      }
    }
  }

  Token token(Token::Kind kind, std::size_t end) {
    const Token made{kind, source_.substr(at_, end - at_), line_};
    at_ = end;
    return made;
  }

  Token next() {
    skip_blanks();
    if (at_ == source_.size()) return {Token::Kind::end, {}, line_};
    const char c = source_[at_];
    std::size_t end = at_ + 1;
    if (starts_word(c)) {
      // "::" belongs to a word only inside: barrier::cta, L2::128B, but not $L__BB0_1: or a:: nothing
      // and a directive ends where the next one begins: .reg.b32
      while (end < source_.size() && !(c == '.' && source_[end] == '.')) {
        if (continues_word(source_[end])) {
          ++end;
        } else if (source_.substr(end, 2) == "::" && end + 2 < source_.size() &&
                   (is_letter(source_[end + 2]) || is_digit(source_[end + 2]))) {
          end += 2;
        } else {
          break;
        }
      }
      return token(Token::Kind::word, end);
    }
    if (is_digit(c)) {
      while (end < source_.size() && (is_digit(source_[end]) || is_letter(source_[end]) || source_[end] == '.')) ++end;
      return token(Token::Kind::number, end);
    }
    if (c == '"') {
      end = source_.find_first_of("\"\n", at_ + 1);
      if (end == std::string_view::npos || source_[end] == '\n') refuse(file_, line_, "a text without its end");
      return token(Token::Kind::text, end + 1);
    }
    if (std::string_view("{}[]()<>,;:@!+-=|").find(c) != std::string_view::npos) {
      return token(Token::Kind::punctuation, end);
    }
    refuse(file_, line_, fmt::format("character {:#04x} does not belong in PTX", static_cast<unsigned char>(c)));
  }

  std::string_view file_, source_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

void refuse(std::string_view file, int line, const std::string& what) {
  throw UsageError(fmt::format("{}:{}: {}", file, line, what));
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 200;  // a mangled C++ name
  std::string out;
  for (const char c : text.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMost ? out + "..." : out;
}

std::vector<Token> tokens_of(std::string_view file, std::string_view source) {
  if (source.size() > kMaxFileBytes) {
    refuse(file, 1, fmt::format("{} bytes of PTX, legal: at most {}", source.size(), kMaxFileBytes));
  }
  return Lexer(file, source).all();
}

}  // namespace flashproof::ptx
