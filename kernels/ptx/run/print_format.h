// printf of device code: a format and its arguments -> text ("Formatted Output" in the CUDA Programming Guide).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace flashproof::ptx {

/// Of each, more is refused: a kernel may bring any format.
inline constexpr std::size_t kMaxPrintText = 4096;  // characters of a format, and of a text that %s names
inline constexpr int kMaxPrintWidth = 1024;         // and precision
inline constexpr int kMaxPrintArguments = 32;       // what stands behind them is shown as it is, as on a GPU

struct PrintArguments {
  std::function<std::uint64_t(int bytes)> next;  // 4 or 8, each at a multiple of its size
  std::function<std::string(std::uint64_t address, std::size_t most)> text;
};

struct PrintedText {
  std::string text;
  int arguments = 0;
};

/// Throws UsageError for a conversion that CUDA does not know, %n among them.
PrintedText formatted(std::string_view format, const PrintArguments& arguments);

}  // namespace flashproof::ptx
