#include "kernels/ptx/test/twin_target.h"

#include <dlfcn.h>

#include <filesystem>

#include "kernels/ptx/parse/parser.h"
#include "kernels/run/make_args.h"
#include "kernels/run/run.h"

namespace flashproof::ptx {

TwinTarget::TwinTarget(const std::string& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".ptx") continue;
    const auto module = std::make_shared<Module>(parse_file(file.path().string()));
    for (const Entry& entry : module->entries) {
      if (!entry.is_function) modules_[entry.name] = module;
    }
  }
}

void TwinTarget::launch(const simt::LaunchRequest& request) {
  Dl_info info{};
  if (dladdr(request.kernel, &info) == 0 || info.dli_sname == nullptr)
    throw NoSuchEntry("the kernel has no name: the test is linked without --export-dynamic");
  std::string name = info.dli_sname;  // the same template in another namespace
  if (const std::size_t at = name.find("3cpu"); at != std::string::npos) name.replace(at, 4, space_);
  const auto module = modules_.find(name);
  if (module == modules_.end()) throw NoSuchEntry(name);
  auto program = programs_.find(name);
  if (program == programs_.end()) {
    if (!unsupported(*module->second, find_entry(*module->second, name)).empty()) throw NoSuchEntry(name);
    program = programs_.emplace(name, Program(*module->second, name)).first;
  }
  const auto dim = [](dim3 d) { return Dim{d.x, d.y, d.z}; };
  if (dim(request.grid).count() == 0) return;
  const LaunchResult result =
      program->second.launch({dim(request.grid), dim(request.block),
                              static_cast<std::uint32_t>(request.dynamic_shared_bytes), request.parameters, arrays_});
  instructions_ += result.instructions;
  if (!result.findings.empty()) throw LaunchFinding(result.findings[0].text);
}

Output TwinTarget::run(const Kernel& kernel, const Problem& problem) {
  space_ = kernel.math == Math::native ? "11cuda_native" : "4cuda";
  Output output;
  for (const Part part : parts(kernel.problem))
    output[part] = poisoned(output_format(problem, part), output_shape(problem, part));
  Tensor workspace = workspace_of(kernel, problem);
  arrays_.clear();
  const auto place = [&](const void* data, std::size_t bytes) {
    arrays_.push_back({const_cast<void*>(data), bytes, false, "an input"});
    return data;
  };
  const auto place_output = [&](Tensor& tensor) -> void* {
    arrays_.push_back({tensor.data(), tensor.storage.size(), true, "an output"});
    return tensor.data();
  };
  arrays_.push_back({workspace.data(), workspace.storage.size(), true, "the workspace"});
  std::fill(workspace.storage.begin(), workspace.storage.end(), std::byte{0xff});
  const simt::ScopedLaunchTarget here(*this);
  std::visit(
      [&](const auto& given) {
        auto args = make_args(given, output, place, place_output);
        args.workspace = {workspace.data(), static_cast<std::int64_t>(workspace.storage.size())};
        std::get<void (*)(const decltype(args)&, Stream)>(kernel.launch)(args, Stream{});
      },
      problem);
  return output;
}

}  // namespace flashproof::ptx
