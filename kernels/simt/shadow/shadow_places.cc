#include "kernels/simt/shadow/shadow_places.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

#if defined(FLASHPROOF_BACKTRACE)
#include "reference/system/source_tree.h"

// Of libbacktrace's backtrace.h, which lies in a folder that only g++ searches.
extern "C" {
struct backtrace_state;
using BacktraceError = void (*)(void* data, const char* message, int number);
using BacktraceLine = int (*)(void* data, std::uintptr_t pc, const char* file, int line, const char* function);
backtrace_state* backtrace_create_state(const char* program, int threaded, BacktraceError error, void* data);
int backtrace_pcinfo(backtrace_state* state, std::uintptr_t pc, BacktraceLine line, BacktraceError error, void* data);
}
#endif

namespace flashproof::simt {
namespace {

constexpr char kAnchor = 0;  // of this program, like the code

#if defined(FLASHPROOF_BACKTRACE)

struct Line {
  std::string file;
  int line;
};

int add_line(void* data, std::uintptr_t, const char* file, int line, const char*) {
  if (file != nullptr && line > 0) static_cast<std::vector<Line>*>(data)->push_back({file, line});
  return 0;  // go on with the function that this one is inlined in
}

/// A header that kernels are made of rather than a kernel.
bool is_library(const Line& line) {
  const std::string_view file = line.file;
  return file.starts_with("/usr/") || (file.find("kernels/simt/") != file.npos && file.ends_with(".h"));
}

std::string relative(std::string file) {
  if (file.starts_with(source_tree())) return file.substr(source_tree().size());
  while (file.starts_with("../")) file.erase(0, 3);  // compilers behind ccache name it from the build folder
  return file;
}

std::string source_line(std::uintptr_t pc) {
  static backtrace_state* const state = backtrace_create_state(nullptr, 0, [](void*, const char*, int) {}, nullptr);
  std::vector<Line> lines;  // innermost first
  if (state != nullptr) backtrace_pcinfo(state, pc, add_line, [](void*, const char*, int) {}, &lines);
  if (lines.empty()) return {};
  const Line* chosen = &lines.front();
  for (const Line& line : lines) {
    if (!is_library(line)) {
      chosen = &line;
      break;
    }
  }
  return fmt::format("{}:{}", relative(chosen->file), chosen->line);
}

#else

std::string source_line(std::uintptr_t) { return {}; }

#endif

}  // namespace

CodeOffset place_of(const void* pc) {
  return static_cast<CodeOffset>(reinterpret_cast<std::intptr_t>(pc) - reinterpret_cast<std::intptr_t>(&kAnchor));
}

const std::string& Places::name(CodeOffset place) {
  const auto [found, is_new] = names_.try_emplace(place);
  if (is_new) {
    // The address before the one to return to lies in the call.
    const std::uintptr_t pc = reinterpret_cast<std::uintptr_t>(&kAnchor) + static_cast<std::intptr_t>(place) - 1;
    found->second = source_line(pc);
    if (found->second.empty()) found->second = fmt::format("code address {:#x}", pc);
  }
  return found->second;
}

}  // namespace flashproof::simt
