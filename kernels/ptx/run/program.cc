#include "kernels/ptx/run/program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/ptx/run/jit.h"
#include "kernels/ptx/run/object_cache.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

Program::Program(const Module& module, std::string_view entry, const ProgramOptions& options)
    : image_(nullptr, &std::free) {
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

  for (const Variable& variable : module.variables) {
    if (variable.space != Space::shared)
      image_bytes_ = std::max(image_bytes_, static_cast<std::size_t>(variable.offset + variable.bytes()));
  }
  if (image_bytes_ == 0) return;
  image_bytes_ = (image_bytes_ + 4095) / 4096 * 4096;
  image_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, image_bytes_)));
  if (!image_) throw InfrastructureError("no memory for the variables of a PTX file");
  std::memset(image_.get(), 0, image_bytes_);
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared) continue;
    std::byte* at = image_.get() + variable.offset;
    std::ranges::copy(variable.initial, at);
    variables_.push_back(
        {at, static_cast<std::uint64_t>(variable.bytes()), variable.space == Space::global, variable.name});
  }
}

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

LaunchResult Program::launch(const Launch& wanted) {
  return ptx::launch(*translation_, code_->blocks(), {image_.get(), image_bytes_}, variables_, wanted);
}

}  // namespace flashproof::ptx
