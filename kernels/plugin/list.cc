// The question to a library, in its process: the text that comes back is as little trusted as the library.
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "kernels/plugin/load.h"
#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

bool is_elf(const std::filesystem::path& path) {
  std::array<char, 4> magic{};
  std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) ==
         "\x7f"
         "ELF";
}

/// For a source, whatever stands in it, the command that makes a library of it.
std::string how_to_make_one(const std::filesystem::path& path) {
  static const std::map<std::string, std::string> kCompilers = {
      {".c", "cc -O2 -shared -fPIC"},
      {".cc", "c++ -O2 -shared -fPIC"},
      {".cpp", "c++ -O2 -shared -fPIC"},
      {".cu", "nvcc -O2 -arch=native -shared -Xcompiler -fPIC"}};
  if (path.extension() == ".py") return "a Python callable is checked by python3 -m flashproof FILE.py:FUNCTION";
  if (path.extension() == ".ptx") return "of a .ptx --map MY.toml says what it computes (kernels/ptx/README.md)";
  const std::string or_map =
      path.extension() == ".cu" ? "; or --map MY.toml, for a verdict on the CPU (kernels/ptx/README.md)" : "";
  const auto compiler = kCompilers.find(path.extension());
  if (compiler == kCompilers.end()) return "legal: what a linker makes with -shared (.so)";
  std::filesystem::path library = path;
  library.replace_extension(".so");
  return fmt::format("compile it, FP being the checkout of flashproof: {} -I \"$FP\" {} -o {} -lm{}", compiler->second,
                     shell_word(path.string()), shell_word(library.string()), or_map);
}

using Json = nlohmann::json;

constexpr std::size_t kMostString = 65537;  // one more than describe() takes, so that a longer one is refused, not cut

std::string bounded(const char* text) { return text == nullptr ? "" : std::string(text, ::strnlen(text, kMostString)); }

}  // namespace

std::string listing_text(const flashproof_plugin& plugin) {
  Json json{{"name", bounded(plugin.name)}, {"version", bounded(plugin.version)}, {"kernels", Json::array()}};
  for (std::uint64_t i = 0; i < plugin.kernel_count; ++i) {
    const flashproof_kernel& kernel = *plugin.kernels[i];
    json["kernels"].push_back({{"id", bounded(kernel.id)},
                               {"problem", kernel.problem},
                               {"device_type", kernel.device_type},
                               {"description", bounded(kernel.description)},
                               {"workspace", kernel.workspace_bytes != nullptr}});
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

PluginListing parse_listing(const std::string& text) {
  try {
    const Json json = strict_json<Json>(text);
    PluginListing listing{
        one_line(json.at("name").get<std::string>()), one_line(json.at("version").get<std::string>()), {}};
    for (const Json& kernel : json.at("kernels")) {
      listing.kernels.push_back({kernel.at("id").get<std::string>(), kernel.at("problem").get<int>(),
                                 kernel.at("device_type").get<int>(), kernel.at("description").get<std::string>(),
                                 kernel.at("workspace").get<bool>()});
    }
    return listing;
  } catch (const std::exception&) {  // of the parser, or of a field
    throw PluginFault("the process that loaded the library answered with something else than its kernels");
  }
}

std::filesystem::path library_path(const std::filesystem::path& given) {
  std::filesystem::path path;
  for (const std::filesystem::path& part : std::filesystem::absolute(given)) {
    if (part != ".") path /= part;
  }
  return path;
}

PluginSource library_source(const std::filesystem::path& given) {
  const std::filesystem::path path = library_path(given);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    const bool there = std::filesystem::exists(path, error);
    throw UsageError(fmt::format("plugin {}: {}, legal: a shared library (.so)", quote(given.string()),
                                 there ? "no regular file" : "no such file"));
  }
  if (!is_elf(path))
    throw UsageError("plugin " + quote(given.string()) + ": no shared library; " + how_to_make_one(given));
  return {{path.string()}, [path = path.string()]() -> const LoadedPlugin& { return LoadedPlugin::of(path); }};
}

PluginListing list_plugin(const PluginSource& source, double seconds) {
  PluginProcess process(source.load, seconds);
  try {
    return parse_listing(process.ask(PluginRequest::What::list).text);
  } catch (const PluginFault&) {
    throw;
  } catch (const ProcessFault& e) {
    throw PluginFault("the process that loaded the library " + e.how);
  } catch (const KernelFault& e) {
    throw PluginFault(e.what());
  }
}

}  // namespace flashproof
