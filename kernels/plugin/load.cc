#include "kernels/plugin/load.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kernels/plugin/call.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMostKernels = 256;

/// A path is told whole: what distinguishes two of them is at the end.
std::string named(const std::string& path) { return "plugin \"" + printable(path, 300) + "\": "; }

const flashproof_plugin* entry_of(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    throw UsageError("plugin " + printable(why != nullptr ? why : path, 300));
  }
  auto* entry = reinterpret_cast<flashproof_plugin_entry_function>(::dlsym(library, "flashproof_plugin_entry"));
  if (entry == nullptr) {
    throw UsageError(
        named(path) +
        "has no function flashproof_plugin_entry: FLASHPROOF_PLUGIN_OF_ONE of kernels/plugin.h defines it");
  }
  const flashproof_plugin* plugin = entry(FLASHPROOF_PLUGIN_ABI);
  if (plugin == nullptr) {
    throw PluginFault(fmt::format("flashproof_plugin_entry({}) returned null: the library has no such ABI version",
                                  FLASHPROOF_PLUGIN_ABI));
  }
  return plugin;
}

void check(const flashproof_plugin& plugin) {
  if (plugin.abi_version != FLASHPROOF_PLUGIN_ABI) {
    throw PluginFault(fmt::format("ABI version {}: this flashproof has {}", plugin.abi_version, FLASHPROOF_PLUGIN_ABI));
  }
  if (plugin.reserved != 0) throw PluginFault(fmt::format("flashproof_plugin.reserved {}: legal 0", plugin.reserved));
  if (plugin.struct_size < sizeof(flashproof_plugin)) {
    throw PluginFault(fmt::format("flashproof_plugin.struct_size {}: legal {} or more", plugin.struct_size,
                                  sizeof(flashproof_plugin)));
  }
  if (plugin.kernel_count < 1 || plugin.kernel_count > kMostKernels || plugin.kernels == nullptr) {
    throw PluginFault(fmt::format("kernel_count {}: legal 1..{}, with kernels", plugin.kernel_count, kMostKernels));
  }
  for (std::uint64_t i = 0; i < plugin.kernel_count; ++i) {
    const flashproof_kernel* kernel = plugin.kernels[i];
    if (kernel == nullptr) throw PluginFault(fmt::format("kernels[{}] is null", i));
    if (kernel->struct_size < sizeof(flashproof_kernel)) {
      throw PluginFault(fmt::format("kernels[{}].struct_size {}: legal {} or more", i, kernel->struct_size,
                                    sizeof(flashproof_kernel)));
    }
    if (kernel->id == nullptr || kernel->description == nullptr || kernel->run == nullptr) {
      throw PluginFault(fmt::format("kernels[{}]: id, description and run must not be null", i));
    }
  }
}

}  // namespace

const LoadedPlugin& LoadedPlugin::of(const std::string& path) {
  static std::map<std::string, std::unique_ptr<LoadedPlugin>> loaded;
  auto& known = loaded[path];
  if (!known) {
    auto fresh = std::make_unique<LoadedPlugin>();
    std::fenv_t ours;
    std::fegetenv(&ours);
    try {
      fresh->plugin = entry_of(path);
      check(*fresh->plugin);
    } catch (...) {
      std::fesetenv(&ours);
      throw;
    }
    std::fegetenv(&fresh->environment);
    std::fesetenv(&ours);
    known = std::move(fresh);
  }
  return *known;
}

Plugin::Plugin(PluginSource source, double seconds, const Declare& declare) : files_(source.files) {
  for (const std::string& file : files_) at_first_.push_back(state_of(file));
  listing_ = list_plugin(source, seconds);
  process_ = std::make_unique<PluginProcess>(std::move(source.load), seconds);
  struct ListedKernel {
    std::size_t described, format, index;
  };
  std::vector<ListedKernel> places;
  for (std::size_t i = 0; i < listing_.kernels.size(); ++i) {
    PluginEntry entry = listing_.kernels[i];
    if (declare) entry.description = declare(entry.id, entry.description);
    try {
      described_.push_back(describe(entry));
    } catch (const UsageError& e) {
      throw UsageError(named(path()) + e.what());
    }
    const std::string& id = described_.back().id;
    if (std::ranges::count(described_, id, &Described::id) > 1) {
      throw UsageError(named(path()) + "kernel " + quote(id) + ": declared twice, an id names one kernel");
    }
    for (std::size_t f = 0; f < described_.back().formats.size(); ++f) places.push_back({i, f, i});
  }
  std::ranges::stable_sort(places, {}, [&](const ListedKernel& p) { return described_[p.described].id; });
  for (const ListedKernel& place : places) {
    const Described& d = described_[place.described];
    Kernel& kernel = kernels_.emplace_back();
    kernel.id = d.id;
    kernel.problem = d.problem;
    kernel.form = Form::hardened;  // judged as one that claims to be right
    kernel.formats = std::span(d.formats).subspan(place.format, 1);
    kernel.contract = d.contract;
    if (d.problem == ProblemKind::backward) {
      kernel.backward_one_of = d.backward[place.format];
    } else {
      kernel.arithmetic = d.arithmetic[place.format];
    }
    kernel.unsupported = d.refusal;
    kernel.has_cuda = d.on_device;
    const PluginEntry& entry = listing_.kernels[place.index];
    kernel.foreign = [process = process_.get(),
                      foreign = ForeignKernel{static_cast<std::uint32_t>(place.index), d.id, d.on_device,
                                              entry.has_workspace, d.contract.returns, d.alignment}](
                         const Problem& problem, const RunOptions& options) {
      return call_plugin(*process, foreign, problem, options);
    };
  }
}

std::array<Plugin::FileState, 2> Plugin::state_of(const std::string& path) {
  const auto state = [&](auto ask) -> FileState {
    struct stat file{};
    if (ask(path.c_str(), &file) != 0) return {};
    return {file.st_dev, file.st_ino, file.st_size, file.st_ctim.tv_sec, file.st_ctim.tv_nsec};
  };
  return {state(::lstat), state(::stat)};
}

std::string Plugin::replaced() const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (state_of(files_[i]) == at_first_[i]) continue;
    return fmt::format("the {} {} was changed or replaced while it was checked: what ran need not be what is there",
                       files_[i].ends_with(".so") ? "library" : "file", quote(files_[i]));
  }
  return {};
}

const Described& Plugin::described(const Kernel& kernel) const {
  return *std::ranges::find(described_, kernel.id, &Described::id);
}

}  // namespace flashproof
