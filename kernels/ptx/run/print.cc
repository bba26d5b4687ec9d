// printf and assert of device code. Texts and arguments are memory of the launch, read as checked loads read it.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/print_format.h"
#include "kernels/ptx/run/runtime.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

struct NotThere {};  // a finding has said where

/// What a lane sees.
class LaneMemory {
 public:
  LaneMemory(Runtime& runtime, int line, int lane) : runtime_(runtime), lane_(lane) { site_.line = line; }

  std::uint64_t number(Space space, std::uint64_t address, std::uint64_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, place(space, address, bytes), bytes);
    return value;
  }
  /// Up to the byte 0, or so many of it.
  std::string text(std::uint64_t address, std::size_t most) {
    std::string made;
    for (; made.size() < most; ++address) {
      const auto c = static_cast<char>(*place(Space::generic, address, 1));
      if (c == '\0') break;
      made += c;
    }
    return made;
  }
  void put_result(std::uint64_t address, std::int32_t value) {
    std::memcpy(place(Space::local, address, 4, true), &value, sizeof value);
  }

 private:
  std::byte* place(Space space, std::uint64_t address, std::uint64_t bytes, bool write = false) {
    site_.space = space;
    std::byte* at = Access{runtime_, site_, write, bytes}.place(address, lane_);
    if (at == nullptr) throw NotThere();
    return at;
  }

  Runtime& runtime_;
  Site site_{};
  int lane_;
};

void keep(Runtime& runtime, const std::string& text) {
  std::string& printed = runtime.result.printed;
  const std::size_t room = runtime.unprinted != 0 ? 0 : kMaxPrinted - std::min(kMaxPrinted, printed.size());
  const std::size_t kept = std::min(room, text.size());
  runtime.unprinted += text.size() - kept;
  for (std::size_t at = 0; at < kept;) {  // line by line: of control characters these two stay
    const std::size_t end = std::min(text.find_first_of("\n\t", at), kept);
    printed += one_line(std::string_view(text).substr(at, end - at));
    if (end < kept) printed += text[end];
    at = end + 1;
  }
}

void print(Runtime& runtime, LaneMemory& memory, std::uint64_t format_at, std::uint64_t arguments_at,
           std::uint64_t result_at) {
  const std::uint64_t format = memory.number(Space::local, format_at, 8);
  std::uint64_t next = memory.number(Space::local, arguments_at, 8);
  if (format == 0) return memory.put_result(result_at, -1);
  const std::string text = memory.text(format, kMaxPrintText + 1);
  if (text.size() > kMaxPrintText)
    throw UsageError(fmt::format("printf: a format of more than {} characters", kMaxPrintText));
  const PrintArguments arguments{[&](int size) {
                                   const auto bytes = static_cast<std::uint64_t>(size);
                                   next = (next + bytes - 1) / bytes * bytes;
                                   const std::uint64_t value = memory.number(Space::generic, next, bytes);
                                   next += bytes;
                                   return value;
                                 },
                                 [&](std::uint64_t address, std::size_t most) { return memory.text(address, most); }};
  const PrintedText made = formatted(text, arguments);
  const auto price = static_cast<std::int64_t>(text.size() + made.text.size());
  runtime.context.budget -= price;
  runtime.prices += price;
  keep(runtime, made.text);
  memory.put_result(result_at, made.arguments);
}

}  // namespace

extern "C" void ptx_print(Context* context, std::uint32_t lanes, std::uint64_t format, std::uint64_t arguments,
                          std::uint64_t result, std::uint32_t site) {
  Runtime& runtime = *context->runtime;
  const int line = runtime.entry->layout.sites[site].line;
  for (; lanes != 0 && context->budget >= 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    LaneMemory memory(runtime, line, lane);
    try {
      print(runtime, memory, format, arguments, result);
    } catch (const NotThere&) {
      return;
    } catch (const UsageError& error) {
      runtime.find(line, error.what(), lane);
    }
  }
  ++runtime.changes;  // a loop that prints does something
}

extern "C" void ptx_assert_fail(Context* context, std::uint32_t lanes, std::uint64_t message, std::uint64_t file,
                                std::uint64_t line, std::uint64_t function, std::uint32_t site) {
  if (lanes == 0 || context->budget < 0) return;
  constexpr std::size_t kMost = 200;  // characters of each
  Runtime& runtime = *context->runtime;
  const int here = runtime.entry->layout.sites[site].line, lane = std::countr_zero(lanes);
  LaneMemory memory(runtime, here, lane);
  try {
    const auto text = [&](std::uint64_t at) {
      const std::uint64_t address = memory.number(Space::local, at, 8);
      return address == 0 ? "?" : shown(memory.text(address, kMost + 1));
    };
    runtime.find(here,
                 fmt::format("the assertion `{}' fails, {}:{}, {}", text(message), text(file),
                             memory.number(Space::local, line, 4), text(function)),
                 lane, false, FindingKind::assertion);
  } catch (const NotThere&) {  // NOLINT(bugprone-empty-catch)
  }
}

}  // namespace flashproof::ptx
