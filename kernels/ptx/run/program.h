// An entry of a PTX file, compiled for this machine: what callers outside of this room use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/ptx/parse/module.h"
#include "kernels/ptx/run/launch.h"

namespace flashproof::ptx {

class LoadedCode;

struct ProgramOptions {
  bool use_cache = true;
  std::string cache_folder;  // empty: as object_cache.h says
};

/// The module's global and constant variables: they keep what launches write, and several programs of a module share them.
struct ModuleVariables {
  explicit ModuleVariables(const Module& module);
  std::unique_ptr<std::byte, void (*)(void*)> image;
  std::size_t bytes = 0;
  std::vector<Array> arrays;
};

/// Programs are made and launched by one thread at a time, as the fibers are.
class Program {
 public:
  /// Compiles, or takes from the cache. Throws UsageError for what translate() and find_entry() refuse, InfrastructureError
  /// without libLLVM.
  /// `variables`: of this module; null: its own.
  Program(const Module& module, std::string_view entry, const ProgramOptions& options = {},
          std::shared_ptr<ModuleVariables> variables = nullptr);
  ~Program();
  Program(Program&&) noexcept;

  LaunchResult launch(const Launch& wanted);
  /// Throws UsageError for a launch that CUDA would refuse, as launch() does.
  void check(const Launch& wanted) const;

  const Entry& entry() const { return translation_->flow.entry; }
  const Layout& layout() const { return translation_->layout; }
  bool from_cache() const { return from_cache_; }

 private:
  std::unique_ptr<Translation> translation_;
  std::unique_ptr<LoadedCode> code_;
  std::shared_ptr<ModuleVariables> variables_;
  bool from_cache_ = false;
};

}  // namespace flashproof::ptx
