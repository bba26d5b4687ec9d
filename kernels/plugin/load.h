// A library of foreign kernels: what it says, asked in a process of its own (plugin_process.h), and its kernels, run in such a one.
#pragma once

#include <array>
#include <cfenv>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plugin.h"
#include "kernels/plugin/description.h"
#include "kernels/plugin/plugin_process.h"
#include "kernels/run/run.h"

namespace flashproof {

/// The library breaks the rules of plugin.h: another ABI version, a null, a crash while it is loaded. A finding.
struct PluginFault : KernelFault {
  using KernelFault::KernelFault;
};

/// What a library says, nothing of it checked but that it is there.
struct PluginListing {
  std::string name, version;
  std::vector<PluginEntry> kernels;
};

/// The kernels of a library as text, for the process that has it, and back. Throws PluginFault.
std::string listing_text(const flashproof_plugin& plugin);
PluginListing parse_listing(const std::string& text);

/// The path by which a library is looked at, loaded and shown: absolute, and the file that `given` names. Without ".", but with every "..":
/// behind a symbolic link that is not the folder before it.
std::filesystem::path library_path(const std::filesystem::path& given);

/// Where kernels come from: a shared library, or whatever else can be put behind plugin.h.
struct PluginSource {
  std::vector<std::string> files;  // paths as library_path() has them; the first is what is shown
  PluginProcess::Load load;
};
/// Throws UsageError where it is none: no file, or no shared library.
PluginSource library_source(const std::filesystem::path& given);

/// Asks a child process that loads the library, for at most so long. Throws UsageError where it is no library of kernels: one without
/// flashproof_plugin_entry(); PluginFault.
PluginListing list_plugin(const PluginSource& source, double seconds);

/// The kernels of a library, to be run like any other. Several formats with one id are several kernels here, each with the
/// arithmetic for its format.
class Plugin {
 public:
  /// What to read in place of a kernel's own description: (id, description) -> description.
  using Declare = std::function<std::string(const std::string& id, const std::string& description)>;

  /// Throws what list_plugin() throws, and UsageError for what describe() refuses and for two kernels of one id.
  explicit Plugin(PluginSource source, double seconds = 30, const Declare& declare = {});
  explicit Plugin(const std::filesystem::path& library, double seconds = 30, const Declare& declare = {})
      : Plugin(library_source(library), seconds, declare) {}
  Plugin(const Plugin&) = delete;  // kernels point into it
  Plugin& operator=(const Plugin&) = delete;

  const std::string& name() const { return listing_.name; }
  const std::string& version() const { return listing_.version; }
  const std::string& path() const { return files_.front(); }
  /// Empty, or a sentence: a file, or the symbolic link that its path is, is not the one any more that it was before the library was
  /// first loaded. Each process loads it by its name, so what was judged need not be what lies there. Not seen: a folder of the path that
  /// was moved away, or a link among them that led elsewhere, and was put back.
  std::string replaced() const;
  /// In id order; has_cuda says that a kernel takes device pointers.
  const std::deque<Kernel>& kernels() const { return kernels_; }
  /// How long a call may take, of its process's own time: at first as long as the constructor says.
  void limit_calls(double seconds) const { process_->limit(seconds); }
  const Described& described(const Kernel& kernel) const;

 private:
  /// Of a file as the system sees it. A write to it, a move, or putting it back moves `changed` on.
  struct FileState {
    std::uint64_t device = 0, number = 0;
    std::int64_t size = -1;  // of no file
    std::int64_t changed_s = 0, changed_ns = 0;
    bool operator==(const FileState&) const = default;
  };
  /// Of what lies at the path, a link or the file, and of the file.
  static std::array<FileState, 2> state_of(const std::string& path);

  std::vector<std::string> files_;
  std::vector<std::array<FileState, 2>> at_first_;
  PluginListing listing_;
  std::unique_ptr<PluginProcess> process_;
  std::deque<Described> described_;
  std::deque<Kernel> kernels_;
};

/// The library in this process, loaded when first asked for and never unloaded. In a process that has nothing else to do.
struct LoadedPlugin {
  const flashproof_plugin* plugin = nullptr;
  std::fenv_t
      environment{};  // the floating-point environment that it left behind: fast-math start-up code flushes subnormals

  static const LoadedPlugin& of(const std::string& path);
};

}  // namespace flashproof
