#include "reports/run/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "reference/system/read_file.h"
#include "reports/run/git.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostGitFile = 64 << 20;

/// "" for what is no file.
std::string text_of(const fs::path& path) {
  try {
    return read_file(path, kMostGitFile);
  } catch (const std::exception&) {  // no pipe or device in .git stops a report
    return {};
  }
}

std::string first_line(const fs::path& path) {
  const std::string text = text_of(path);
  return text.substr(0, text.find('\n'));
}

/// From .git without git; empty in a checkout that git made beside another (its .git is a file).
std::string revision_in(const fs::path& git) {
  std::string head = first_line(git / "HEAD");
  if (!head.starts_with("ref: ")) return head;
  const std::string ref = head.substr(5);
  if (const std::string loose = first_line(git / ref); !loose.empty()) return loose;
  std::istringstream packed(text_of(git / "packed-refs"));
  for (std::string line; std::getline(packed, line);) {
    if (line.ends_with(" " + ref)) return line.substr(0, line.find(' '));
  }
  return {};
}

/// That of the checkout that this program lies in, below build/, whatever directory it is called from.
std::string own_revision() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : checkout_revision(program.parent_path());
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unknown";
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : one_line(text); }

}  // namespace

std::string checkout_revision(const fs::path& inside) {
  std::error_code error;
  fs::path root = inside;
  while (!fs::exists(root / ".git", error)) {
    if (root == root.parent_path()) return {};
    root = root.parent_path();
  }
  const std::optional<std::string> head = output_of(git(root, {"rev-parse", "--verify", "HEAD"}));
  if (!head) return revision_in(root / ".git");
  const std::optional<std::string> changes = output_of(git(root, {"status", "--porcelain", "--untracked-files=no"}));
  return *head + (changes && !changes->empty() ? "-dirty" : "");
}

std::string gpu_description() {
  FILE* pipe =
      ::popen("timeout -k 1 5 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null", "r");
  if (pipe == nullptr) return "none";
  char line[256] = {};
  const bool read = std::fgets(line, sizeof line, pipe) != nullptr;
  if (::pclose(pipe) != 0 || !read) return "none";
  std::string text(line);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const std::size_t comma = text.find(", ");
  return comma == std::string::npos ? text : text.substr(0, comma) + ", driver " + text.substr(comma + 2);
}

std::string_view version() { return FLASHPROOF_VERSION; }

std::string this_revision() {
  const char* told = std::getenv("FLASHPROOF_REVISION");
  return or_unknown(told != nullptr && *told != '\0' ? told : own_revision());
}

Environment this_environment(bool with_gpu) {
  Environment environment;
#ifdef __clang__
  environment.compiler = "clang " __clang_version__;
#else
  environment.compiler = "g++ " __VERSION__;
#endif
  environment.cuda_compiler = FLASHPROOF_CUDA_COMPILER;
  environment.flags = FLASHPROOF_COMPILE_FLAGS;
  environment.revision = this_revision();
  environment.cpu = or_unknown(cpu_model());
  environment.gpu = with_gpu ? one_line(gpu_description()) : "not used";
  environment.date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  return environment;
}

}  // namespace flashproof
