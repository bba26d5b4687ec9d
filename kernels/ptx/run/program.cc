#include "kernels/ptx/run/program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/ptx/run/jit.h"
#include "kernels/ptx/run/object_cache.h"
#include "kernels/ptx/run/runtime_state.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

ModuleVariables::ModuleVariables(const Module& module) : image(nullptr, &std::free) {
  for (const Variable& variable : module.variables) {
    if (variable.space != Space::shared)
      bytes = std::max(bytes, static_cast<std::size_t>(variable.offset + variable.bytes()));
  }
  if (bytes == 0) return;
  bytes = (bytes + 4095) / 4096 * 4096;
  image.reset(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
  if (!image) throw InfrastructureError("no memory for the variables of a PTX file");
  std::memset(image.get(), 0, bytes);
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared) continue;
    std::byte* at = image.get() + variable.offset;
    std::ranges::copy(variable.initial, at);
    arrays.push_back(
        {at, static_cast<std::uint64_t>(variable.bytes()), variable.space == Space::global, variable.name});
  }
}

Program::Program(const Module& module, std::string_view entry, const ProgramOptions& options,
                 std::shared_ptr<ModuleVariables> variables)
    : variables_(std::move(variables)) {
  translation_ = std::make_unique<Translation>(translate(module, find_entry(module, entry)));
  const std::string key =
      machine_name() + "\n" + translation_->ir;  // the IR says what the emitter did: it needs no version
  const ObjectCache cache(options.cache_folder);
  std::optional<std::vector<char>> object;
  if (options.use_cache) object = cache.find(key);
  from_cache_ = object.has_value();
  if (!object) {
    object = compile(translation_->ir);
    if (options.use_cache) cache.keep(key, *object);
  }
  code_ = std::make_unique<LoadedCode>(*object);
  if (!variables_) variables_ = std::make_shared<ModuleVariables>(module);
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

LaunchResult Program::launch(const Launch& wanted) {
  return ptx::launch(*translation_, code_->blocks(), {variables_->image.get(), variables_->bytes}, variables_->arrays,
                     wanted);
}

void Program::check(const Launch& wanted) const { check_launch(*translation_, wanted); }

}  // namespace flashproof::ptx
