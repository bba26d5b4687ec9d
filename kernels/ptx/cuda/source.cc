#include "kernels/ptx/cuda/source.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <vector>

#include "kernels/ptx/cuda/dependencies.h"
#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/object_cache.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/run_command.h"
#include "reference/system/shown_text.h"
#include "reference/system/source_tree.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

/// Where the build looks for it (CMakeLists.txt), and ./flashproof (reports/launcher/machine.cmake).
std::string find_nvcc() {
  std::vector<std::string> folders;
  std::istringstream path(variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.push_back(folder);
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const std::string folder = variable(name); !folder.empty()) folders.push_back(folder + "/bin");
  }
  folders.emplace_back("/usr/local/cuda/bin");
  folders.push_back(std::string(source_tree()) + ".cuda/nvidia/cu13/bin");
  for (const std::string& folder : folders) {
    const std::string file = folder + "/nvcc";
    if (folder.starts_with('/') && fs::is_regular_file(file) && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

std::string architecture() {
  const std::string given = variable("FLASHPROOF_CUDA_ARCHITECTURES");
  if (given.empty()) return "sm_80";
  const std::string first = given.substr(0, given.find_first_of(";-"));
  const std::size_t digits = std::min(first.find_first_not_of("0123456789"), first.size());
  const std::string suffix = first.substr(digits);
  if (digits < 2 || digits > 3 || (!suffix.empty() && suffix != "a" && suffix != "f"))
    throw UsageError(
        fmt::format("FLASHPROOF_CUDA_ARCHITECTURES={}: legal: numbers like 80 or 90a, joined by ;", quote(given)));
  return "sm_" + first;
}

/// A folder for as long as it lives.
class Workplace {
 public:
  Workplace() : path_((fs::temp_directory_path() / "flashproof.XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw InfrastructureError(path_ + ": no such folder can be made");
  }
  ~Workplace() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// What the compiler said, to stderr: it quotes the source.
void show_messages(const std::string& file) {
  constexpr std::uint64_t kMost = 1 << 20;
  const std::string text =
      fs::file_size(file) > kMost ? "nvcc has said more than 1 MiB\n" : shown_lines(read_file(file, kMost));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

/// The name of the module, for messages: with lines of the PTX, not of the source.
std::string module_name(const std::string& path) { return shown(fs::path(path).replace_extension(".ptx").string()); }

std::string compiled(const std::string& nvcc, const std::string& path, std::vector<std::string> words,
                     std::vector<Dependency>& made_of) {
  const Workplace folder;
  words.insert(words.begin(), nvcc);
  words.insert(words.end(), {"-MD", "-MF", folder / "d", "-o", folder / "ptx", path});
  CommandLine command{std::move(words)};
  command.output = command.errors = folder / "messages";
  const int code = run_command(command);
  show_messages(folder / "messages");
  if (code != 0)
    throw UsageError(
        fmt::format("{}: nvcc does not compile it (exit code {}; its messages stand above)", shown(path), code));
  made_of = dependencies_in(read_file(folder / "d", kMaxFileBytes));
  return read_file(folder / "ptx", kMaxFileBytes);
}

std::string ptx_of(const std::string& path, const ProgramOptions& options, const std::vector<std::string>& flags) {
  if (path.find_first_of("$`\"\\\n") != std::string::npos)
    throw UsageError(shown(path) + R"(: nvcc hands paths to a shell, legal: without $, `, ", \ and line ends)");
  read_file(path, kMaxFileBytes);  // no regular file: told before anything else
  const std::string nvcc = find_nvcc();
  if (nvcc.empty()) throw InfrastructureError(shown(path) + ": " + without_nvcc());
  std::vector<std::string> words = {"-ptx", "-lineinfo", "-arch=" + architecture()};
  words.insert(words.end(), flags.begin(), flags.end());
  const bool has_flags = !(variable("NVCC_PREPEND_FLAGS") + variable("NVCC_APPEND_FLAGS")).empty();  // paths, perhaps
  const std::string absolute = fs::absolute(path).lexically_normal().string();
  std::string key = fmt::format("cuda 1\n{}\n{}\n{}\n{}\n{}\n{}\n", absolute, nvcc,
                                has_flags ? fs::current_path().string() : "", variable("NVCC_PREPEND_FLAGS"),
                                variable("NVCC_APPEND_FLAGS"), fmt::join(words.begin() + 2, words.end(), "\n"));
  const auto version = output_of({{nvcc, "--version"}});
  if (!version) throw InfrastructureError(nvcc + " --version: it does not run");
  key += *version;
  const ObjectCache cache(options.cache_folder);
  if (const auto kept = options.use_cache ? cache.find(key) : std::nullopt) {
    if (auto ptx = unchanged({kept->data(), kept->size()})) return *ptx;
  }
  std::vector<Dependency> made_of;
  std::string ptx = compiled(nvcc, absolute, words, made_of);
  if (options.use_cache) {
    const std::string file = with_dependencies(made_of, ptx);
    cache.keep(key, {file.begin(), file.end()});
  }
  return ptx;
}

}  // namespace

bool is_cuda_source(const std::string& path) { return path.ends_with(".cu"); }

Module read_module(const std::string& path, const ProgramOptions& options, const std::vector<std::string>& flags) {
  if (!is_cuda_source(path)) return parse_file(path);
  return parse(module_name(path), ptx_of(path, options, flags));
}

std::string without_nvcc() {
  if (!find_nvcc().empty()) return "";
  return "no nvcc (looked in PATH, CUDA_PATH, CUDA_HOME, /usr/local/cuda and .cuda); ./flashproof setup --cuda "
         "installs one";
}

}  // namespace flashproof::ptx
