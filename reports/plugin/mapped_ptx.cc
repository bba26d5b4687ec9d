#include "reports/plugin/mapped_ptx.h"

#include <cfenv>
#include <memory>

#include "kernels/ptx/cuda/source.h"
#include "kernels/ptx/map/mapped_kernel.h"
#include "reference/system/text.h"
#include "reports/plugin/declared_by.h"

namespace flashproof {
namespace {

/// The kernel and what a process that has it is shown, together for as long as one of them is used.
struct Mapped {
  ptx::MappedKernel kernel;
  LoadedPlugin loaded;

  Mapped(ptx::Map map, const ptx::Module& module) : kernel(std::move(map), module), loaded{&kernel.plugin(), {}} {
    std::fegetenv(&loaded.environment);
  }
};

}  // namespace

PluginSource mapped_ptx(const std::filesystem::path& ptx, const std::filesystem::path& map) {
  ptx::Module module = ptx::read_module(ptx.string());
  module.file =
      std::filesystem::path(module.file).filename().string();  // findings are short, and the verdict has the path
  const std::string name = printable(map.string(), 200);
  const auto mapped = std::make_shared<Mapped>(ptx::read_map(name, toml_fields(map), module), module);
  return {{library_path(ptx).string(), library_path(map).string()},
          [mapped]() -> const LoadedPlugin& { return mapped->loaded; }};
}

}  // namespace flashproof
