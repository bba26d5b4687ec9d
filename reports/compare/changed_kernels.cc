#include "reports/compare/changed_kernels.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "reference/system/read_file.h"
#include "reference/system/run_command.h"
#include "reference/system/strict_json.h"

namespace flashproof::compare {
namespace {

namespace fs = std::filesystem;

/// The object files of the program without its seeded faults, relative to the build folder; empty: ninja does not say.
std::set<std::string> objects_of(const fs::path& build) {
  const auto inputs = output_of({.words = {"ninja", "-C", build.string(), "-t", "inputs", "flashproof-cli"}});
  std::set<std::string> objects;
  std::istringstream lines(inputs.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(".o") && line.find("/broken/") == std::string::npos) objects.insert(line);
  }
  return objects;
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  constexpr std::uint64_t kLargestObject = 256U << 20;
  return read_file(a, kLargestObject) == read_file(b, kLargestObject);
}

/// Kernels by the end of the names of their object files: kernels/softmax/safe.cu is compiled as itself for CUDA, and as
/// softmax_safe.cc and softmax_safe.cu for the CPU, the race shadow and native mathematics (kernels/CMakeLists.txt).
std::map<std::string, std::vector<std::string>> kernels_by_stem(const fs::path& build, std::size_t& count) {
  std::map<std::string, std::vector<std::string>> kernels;
  const auto text = output_of({.words = {(build / "reports/flashproof-cli").string(), "list", "kernels", "--json"}});
  nlohmann::json list;
  try {
    list = strict_json<nlohmann::json>(text.value_or(""));
  } catch (const UsageError&) {  // a revision that says it in another way: then every kernel is run
  }
  if (!list.is_array()) return kernels;
  for (const auto& kernel : list) {
    if (!kernel.is_object() || !kernel.value("source", nlohmann::json()).is_string()) return {};
    const fs::path source = fs::path(kernel["source"].get<std::string>()).lexically_relative("kernels");
    std::string symbol = fs::path(source).replace_extension().string();
    std::ranges::replace(symbol, '/', '_');
    const std::string id = kernel.value("id", "");
    for (const std::string& stem : {symbol + ".cc.o", symbol + ".cu.o", source.string() + ".o"}) {
      kernels["/" + stem].push_back(id);
    }
    ++count;
  }
  return kernels;
}

/// What an object is compiled of, as objects: itself, or the sources that CMake's unity file beside it includes. Empty: it cannot be read.
std::vector<std::string> compiled_of(const fs::path& build, const std::string& object) {
  if (object.find("/Unity/unity_") == std::string::npos) return {object};
  std::vector<std::string> list;
  try {
    std::istringstream lines(read_file(build / object.substr(0, object.size() - 2), 1U << 20));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#include \"") && line.ends_with('"'))
        list.push_back(line.substr(10, line.size() - 11) + ".o");
    }
  } catch (const UsageError&) {  // no such file: it cannot be told
  }
  return list;
}

}  // namespace

std::optional<ChangedKernels> changed_kernels(const fs::path& base, const fs::path& head) {
  const std::set<std::string> objects = objects_of(head);
  if (objects.empty() || objects != objects_of(base)) return std::nullopt;
  ChangedKernels changed;
  const auto kernels = kernels_by_stem(head, changed.of);
  if (kernels.empty()) return std::nullopt;
  std::set<std::string> ids;
  for (const std::string& object : objects) {
    // The one object that says where the tree lies is another in every tree (source_tree.h).
    if (object.ends_with("/source_tree.cc.o") || same_bytes(base / object, head / object)) continue;
    const std::vector<std::string> sources = compiled_of(head, object);
    if (sources.empty()) return std::nullopt;
    for (const std::string& source : sources) {
      const auto of = std::ranges::find_if(kernels, [&](const auto& entry) { return source.ends_with(entry.first); });
      if (of == kernels.end()) return std::nullopt;
      ids.insert(of->second.begin(), of->second.end());
    }
  }
  changed.ids.assign(ids.begin(), ids.end());
  return changed;
}

}  // namespace flashproof::compare
