#include "reference/system/legal_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// Without a fraction where it has none: 1e8 reads as 100000000.
std::string number_text(double x) { return x == std::floor(x) ? fmt::format("{:.0f}", x) : fmt::format("{}", x); }

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view must,
                         const LegalValue& legal) {
  throw UsageError(fmt::format("{} {}: {} {}", name, quote(value), must, legal.range()));
}

}  // namespace

std::string LegalValue::range() const {
  switch (kind) {
    case Kind::whole:
      return fmt::format("{}..{}", least, most);
    case Kind::real:
      return number_text(shortest) + ".." + number_text(longest);
    case Kind::words:
      return fmt::format("{}", fmt::join(words, ", "));
    case Kind::text:
      break;
  }
  return "";
}

std::uint64_t LegalValue::whole(std::string_view name, std::string_view value) const {
  const auto number = parse_u64(value);
  if (!number || *number < least || *number > most) refuse(name, value, "must be", *this);
  return *number;
}

double LegalValue::real(std::string_view name, std::string_view value) const {
  const std::string text(value);  // no sign, no hexadecimal digits, no inf and no nan
  const bool decimal = !text.empty() && text.find_first_not_of("0123456789.eE+-") == std::string::npos &&
                       text.front() != '+' && text.front() != '-';
  char* end = nullptr;
  const double number = decimal ? std::strtod(text.c_str(), &end) : 0;
  const bool whole = decimal && *end == '\0';
  if (!whole || !(number >= shortest && number <= longest)) refuse(name, value, "must be", *this);
  return number;
}

void LegalValue::require_word(std::string_view name, std::string_view value) const {
  if (std::ranges::find(words, value) == words.end()) refuse(name, value, "legal", *this);
}

LegalValue whole_number(std::uint64_t least, std::uint64_t most) {
  return {.kind = LegalValue::Kind::whole, .least = least, .most = most};
}

LegalValue real_number(double shortest, double longest) {
  return {.kind = LegalValue::Kind::real, .shortest = shortest, .longest = longest};
}

LegalValue one_of(std::vector<std::string_view> words) {
  return {.kind = LegalValue::Kind::words, .words = std::move(words)};
}

}  // namespace flashproof
