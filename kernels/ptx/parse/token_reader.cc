#include "kernels/ptx/parse/token_reader.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <optional>

namespace flashproof::ptx {
namespace {

template <class T>
std::optional<T> number(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// 12, 0x1F, 017, 0b101, each with U behind it or not.
std::optional<std::uint64_t> integer(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (text.ends_with('U')) text.remove_suffix(1);
  if (hex) return number<std::uint64_t>(text.substr(2), 16);
  if (text.starts_with("0b") || text.starts_with("0B")) return number<std::uint64_t>(text.substr(2), 2);
  if (text.size() > 1 && text.front() == '0') return number<std::uint64_t>(text.substr(1), 8);
  return number<std::uint64_t>(text, 10);
}

}  // namespace

bool TokenReader::accept(std::string_view text) {
  if (!peek().is(text)) return false;
  take();
  return true;
}

void TokenReader::expect(std::string_view text, std::string_view where) {
  if (!accept(text)) {
    complain(fmt::format("'{}' expected {}, not {}", text, where,
                         at_end() ? "the end of the file" : "'" + shown(peek().text) + "'"));
  }
}

std::string_view TokenReader::expect_word(std::string_view what) {
  if (peek().kind != Token::Kind::word) {
    complain(
        fmt::format("{} expected, not {}", what, at_end() ? "the end of the file" : "'" + shown(peek().text) + "'"));
  }
  return take().text;
}

std::int64_t TokenReader::expect_count(std::string_view what, std::int64_t low, std::int64_t high) {
  const auto value = peek().kind == Token::Kind::number ? integer(peek().text) : std::nullopt;
  if (!value || *value > static_cast<std::uint64_t>(high) || static_cast<std::int64_t>(*value) < low) {
    complain(fmt::format("{}: '{}', legal: {} to {}", what, shown(peek().text), low, high));
  }
  take();
  return static_cast<std::int64_t>(*value);
}

Operand TokenReader::expect_literal(std::string_view what) {
  const bool negative = accept("-");
  const std::string_view text = peek().text;
  if (peek().kind != Token::Kind::number) complain(fmt::format("{} expected, not '{}'", what, shown(text)));
  Operand literal;
  if (text.starts_with("0f") || text.starts_with("0F")) {
    const auto bits = text.size() == 10 ? number<std::uint32_t>(text.substr(2), 16) : std::nullopt;
    if (!bits || negative) complain(fmt::format("'{}' is no f32: 0f and eight hexadecimal digits", shown(text)));
    literal.kind = Operand::Kind::single;
    literal.bits = *bits;
  } else if (text.starts_with("0d") || text.starts_with("0D")) {
    const auto bits = text.size() == 18 ? number<std::uint64_t>(text.substr(2), 16) : std::nullopt;
    if (!bits || negative) complain(fmt::format("'{}' is no f64: 0d and sixteen hexadecimal digits", shown(text)));
    literal.kind = Operand::Kind::real;
    literal.bits = *bits;
  } else if (text.find('.') != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
      complain(fmt::format("'{}' is no number", shown(text)));
    literal.kind = Operand::Kind::real;
    literal.bits = std::bit_cast<std::uint64_t>(negative ? -value : value);
  } else {
    const auto value = integer(text);
    if (!value) complain(fmt::format("'{}' is no number of 64 bits", shown(text)));
    literal.kind = Operand::Kind::integer;
    literal.bits = negative ? 0 - *value : *value;
  }
  take();
  return literal;
}

void TokenReader::skip_over(std::string_view end) {
  while (!at_end() && !peek().is(end)) {
    if (take().is("{")) skip_block();
  }
  expect(end, "at the end of a statement");
}

void TokenReader::skip_line() {
  const int here = line();
  while (!at_end() && line() == here) take();
}

void TokenReader::skip_block() {
  for (int depth = 1; depth > 0;) {
    if (at_end()) complain("'}' expected, not the end of the file");
    const Token& token = take();
    depth += token.is("{") ? 1 : 0;
    depth -= token.is("}") ? 1 : 0;
  }
}

std::uint64_t bits_of(const Operand& literal, Type type) {
  if (type.kind == 'f' && type.bits == 32 && literal.kind == Operand::Kind::real) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(literal.bits)));
  }
  return type.bits >= 64 ? literal.bits : literal.bits & ((1ULL << type.bits) - 1);
}

}  // namespace flashproof::ptx
