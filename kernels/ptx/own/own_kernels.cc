#include "kernels/ptx/own/own_kernels.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "kernels/ptx/cuda/source.h"
#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/translate/llvm.h"
#include "kernels/run/run.h"
#include "kernels/source.h"
#include "reference/system/source_tree.h"
#include "reference/system/text.h"

namespace flashproof::ptx {
namespace {

/// A kernel's file and which mathematics it is compiled with, as the CUDA build does (kernels/CMakeLists.txt).
using Source = std::pair<std::string, Math>;

Source source_for(const Kernel& kernel) {
  if (!has_ptx(kernel)) throw UsageError(fmt::format("kernel {}: no PTX is made of it", kernel.id));
  return {std::string(source_tree()) + std::string(source_of(kernel.id)), kernel.math};
}

/// Compiled or read once in a process, and in those that it is forked into afterwards.
std::shared_ptr<const Module> module_of(const Source& source) {
  static std::mutex mutex;
  static std::map<Source, std::shared_ptr<const Module>> modules;
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = modules.find(source); known != modules.end()) return known->second;
  }
  std::vector<std::string> flags = {"-std=c++20", "-diag-suppress=445", "-I" + std::string(source_tree())};
  if (source.second == Math::native) flags.emplace_back("-DFP_NATIVE_MATH=1");
  std::shared_ptr<const Module> module;
  try {
    module = std::make_shared<const Module>(read_module(source.first, {}, flags));
  } catch (const UsageError& e) {  // a source of ours, not the user's
    throw InfrastructureError(e.what());
  }
  const std::scoped_lock lock(mutex);
  return modules.try_emplace(source, std::move(module)).first->second;
}

PtxTarget& own_kernels_of_thread() {
  thread_local OwnKernels kernels;
  return kernels;
}

}  // namespace

OwnKernels::OwnKernels(const std::string& folder) : compiles_(folder.empty()) {
  if (compiles_) return;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".ptx") take(std::make_shared<const Module>(parse_file(file.path().string())));
  }
}

void OwnKernels::take(const std::shared_ptr<const Module>& module) {
  for (const Entry& entry : module->entries) {
    if (!entry.is_function) modules_[entry.name] = module;
  }
}

void OwnKernels::begin(const Kernel& kernel) {
  space_ = kernel.math == Math::native ? "11cuda_native" : "4cuda";
  arrays_.clear();
  if (compiles_) take(module_of(source_for(kernel)));
}

void OwnKernels::add(void* data, std::size_t bytes, bool writable, std::string name) {
  arrays_.push_back({data, bytes, writable, std::move(name)});
}

void OwnKernels::launch(const simt::LaunchRequest& request) {
  Dl_info info{};
  if (dladdr(request.kernel, &info) == 0 || info.dli_sname == nullptr || info.dli_saddr != request.kernel)
    throw NoSuchEntry("the kernel has no name: the program is linked without --export-dynamic");
  std::string name = info.dli_sname;  // the same template in another namespace
  if (const std::size_t at = name.find("3cpu"); at != std::string::npos) name.replace(at, 4, space_);
  auto program = programs_.find(name);
  if (program == programs_.end()) {
    const auto module = modules_.find(name);
    if (module == modules_.end()) throw NoSuchEntry(name + ": no file has this entry");
    if (const auto lacks = unsupported(*module->second, find_entry(*module->second, name)); !lacks.empty())
      throw NoSuchEntry(name + ": " + lacks.front());
    try {
      program = programs_.emplace(name, Program(*module->second, name)).first;
    } catch (const UsageError& e) {  // what translate() refuses is no refusal of the kernel's
      throw NoSuchEntry(e.what());
    }
  }
  const auto dim = [](dim3 d) { return Dim{d.x, d.y, d.z}; };
  if (dim(request.grid).count() == 0) return;
  const Launch wanted = {dim(request.grid), dim(request.block),
                         static_cast<std::uint32_t>(request.dynamic_shared_bytes), request.parameters, arrays_};
  LaunchResult result;
  try {
    result = program->second.launch(wanted);
  } catch (const UsageError& e) {  // CUDA would refuse the launch: the fibers have a fault for it
    throw KernelFault(e.what());
  }
  instructions_ += result.instructions;
  if (!result.findings.empty()) throw KernelFault(result.findings[0].text);
}

void execute_own_kernels() { set_ptx_target(own_kernels_of_thread); }

std::string without_own_kernels() {
  if (std::string why = without_nvcc(); !why.empty()) return why;
  if (!std::filesystem::is_directory(std::string(source_tree()) + "kernels"))
    return "the kernels' sources are not where this program was built: " + one_line(std::string(source_tree()));
  try {
    llvm();
  } catch (const InfrastructureError& e) {
    return e.what();
  }
  return "";
}

void compile_own_kernels(std::span<const Kernel* const> kernels, int jobs,
                         const std::function<void(std::size_t done, std::size_t total)>& progress) {
  std::set<Source> distinct;
  for (const Kernel* kernel : kernels) {
    if (has_ptx(*kernel)) distinct.insert(source_for(*kernel));
  }
  const std::vector<Source> sources(distinct.begin(), distinct.end());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  std::exception_ptr failed;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      std::exception_ptr thrown;
      try {
        module_of(sources[i]);
      } catch (...) {
        thrown = std::current_exception();
        next = sources.size();
      }
      const std::scoped_lock lock(mutex);
      if (thrown != nullptr) failed = thrown;
      progress(++done, sources.size());
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t job = 0; job < std::min(static_cast<std::size_t>(jobs), sources.size()); ++job)
    threads.emplace_back(work);
  threads.clear();
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace flashproof::ptx
