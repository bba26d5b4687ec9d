#include "kernels/ptx/run/print_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

enum class Size : std::uint8_t { byte, half, word, wide };

struct Conversion {
  std::string flags;
  int width = -1, precision = -1;  // -1: none
  Size size = Size::word;
  char type = 0;
};

class Formatter {
 public:
  Formatter(std::string_view format, const PrintArguments& arguments) : format_(format), arguments_(arguments) {}

  PrintedText all() {
    while (at_ < format_.size()) {
      const std::size_t percent = std::min(format_.find('%', at_), format_.size());
      made_.text += format_.substr(at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) conversion();
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(std::size_t from) const {
    throw UsageError(
        fmt::format("printf: {} in its format, legal: %[#0 +-][width][.precision][hh, h, l, ll, j, z or t] and one of "
                    "diouxXcpsfFeEgGaA, width and precision at most {}",
                    quote(format_.substr(from, at_ + 1 - from)), kMaxPrintWidth));
  }
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }
  bool accept(std::string_view text) {
    if (!format_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  std::uint64_t next(int bytes) {
    ++made_.arguments;
    return arguments_.next(bytes);
  }
  bool has_room() const { return made_.arguments < kMaxPrintArguments; }

  /// Digits, or '*': an argument.
  int number(std::size_t from, std::string& flags) {
    if (accept("*")) {
      if (!has_room()) refuse(from);
      const auto given = static_cast<std::int32_t>(next(4));
      if (given < -kMaxPrintWidth || given > kMaxPrintWidth) refuse(from);
      if (given < 0) flags += '-';  // of a width; a precision below 0 is none
      return given < 0 ? -given : given;
    }
    int value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      value = 10 * value + (peek() - '0');
      if (value > kMaxPrintWidth) refuse(from);
    }
    return value;
  }

  void conversion() {
    const std::size_t from = at_++;
    if (accept("%")) {
      made_.text += '%';
      return;
    }
    Conversion made;
    while (std::string_view("#0 +-").find(peek()) != std::string_view::npos && made.flags.size() < 5 && peek() != '\0')
      made.flags += format_[at_++];
    const int before = made_.arguments;
    if (peek() == '*' || (peek() >= '1' && peek() <= '9')) made.width = number(from, made.flags);
    if (accept(".")) {
      std::string negative;
      made.precision = number(from, negative);
      if (!negative.empty()) made.precision = -1;
    }
    if (accept("hh")) {
      made.size = Size::byte;
    } else if (accept("h")) {
      made.size = Size::half;
    } else if (accept("ll") || accept("l") || accept("j") || accept("z") || accept("t")) {
      made.size = Size::wide;
    }
    made.type = peek();
    if (std::string_view("diouxXcpsfFeEgGaA").find(made.type) == std::string_view::npos || made.type == '\0')
      refuse(from);
    ++at_;
    if (!has_room()) {
      made_.arguments = before;
      made_.text += format_.substr(from, at_ - from);
      return;
    }
    put(made);
  }

  void put(const Conversion& made) {
    switch (made.type) {
      case 'd':
      case 'i':
        return print(made, "ll", signed_of(made.size));
      case 'o':
      case 'u':
      case 'x':
      case 'X':
        return print(made, "ll", unsigned_of(made.size));
      case 'c':
        return print(made, "", static_cast<int>(static_cast<unsigned char>(next(4))));
      case 'p':
        return print(made, "", reinterpret_cast<void*>(next(8)));  // NOLINT(performance-no-int-to-ptr): to be shown
      case 's': {
        const std::uint64_t address = next(8);
        const auto most = static_cast<std::size_t>(made.precision);
        const std::string text =
            address == 0 ? "(null)" : arguments_.text(address, made.precision < 0 ? kMaxPrintText + 1 : most);
        if (text.size() > kMaxPrintText)
          throw UsageError(fmt::format("printf: a text of more than {} characters for %s", kMaxPrintText));
        return print(made, "", text.c_str());
      }
      default:
        return print(made, "", std::bit_cast<double>(next(8)));
    }
  }

  long long signed_of(Size size) {
    if (size == Size::wide) return static_cast<long long>(next(8));
    const auto word = static_cast<std::int32_t>(next(4));
    return size == Size::byte   ? static_cast<std::int8_t>(word)
           : size == Size::half ? static_cast<std::int16_t>(word)
                                : word;
  }
  unsigned long long unsigned_of(Size size) {
    if (size == Size::wide) return next(8);
    const auto word = static_cast<std::uint32_t>(next(4));
    return size == Size::byte   ? static_cast<std::uint8_t>(word)
           : size == Size::half ? static_cast<std::uint16_t>(word)
                                : word;
  }

  template <class T>
  void print(const Conversion& made, const char* size, T value) {
    std::string spec = "%" + made.flags;
    if (made.width >= 0) spec += std::to_string(made.width);
    if (made.precision >= 0) spec += "." + std::to_string(made.precision);
    spec += size;
    spec += made.type;
    char text[kMaxPrintText + 2 * kMaxPrintWidth];  // digits of 1e308, and as many behind the point as may be asked for
    const int length = std::snprintf(text, sizeof text, spec.c_str(), value);
    made_.text.append(text, static_cast<std::size_t>(std::clamp<int>(length, 0, sizeof text - 1)));
  }

  std::string_view format_;
  const PrintArguments& arguments_;
  std::size_t at_ = 0;
  PrintedText made_;
};

}  // namespace

PrintedText formatted(std::string_view format, const PrintArguments& arguments) {
  return Formatter(format, arguments).all();
}

}  // namespace flashproof::ptx
