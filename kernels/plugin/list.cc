// The question to a library, in a child: the text that comes back is as little trusted as the library.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "kernels/plugin/load.h"
#include "reference/problem/child_process.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostText = std::size_t{1} << 24;  // of the whole answer
constexpr std::size_t kMostString = 65537;  // one more than describe() takes, so that a longer one is refused, not cut
constexpr char kListing = 'k', kUsage = 'u', kFault = 'f';

std::string bounded(const char* text) { return text == nullptr ? "" : std::string(text, ::strnlen(text, kMostString)); }

std::string answer(const std::string& path) {
  try {
    const flashproof_plugin& plugin = *LoadedPlugin::of(path).plugin;
    Json json{{"name", bounded(plugin.name)}, {"version", bounded(plugin.version)}, {"kernels", Json::array()}};
    for (std::uint64_t i = 0; i < plugin.kernel_count; ++i) {
      const flashproof_kernel& kernel = *plugin.kernels[i];
      json["kernels"].push_back({{"id", bounded(kernel.id)},
                                 {"problem", kernel.problem},
                                 {"device_type", kernel.device_type},
                                 {"description", bounded(kernel.description)}});
    }
    return kListing + json.dump(-1, ' ', true, Json::error_handler_t::replace);
  } catch (const UsageError& e) {
    return kUsage + std::string(e.what());
  } catch (const std::exception& e) {
    return kFault + std::string(e.what());
  } catch (...) {
    return kFault + std::string("a C++ exception left flashproof_plugin_entry");
  }
}

PluginListing parse(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    PluginListing listing{
        one_line(json.at("name").get<std::string>()), one_line(json.at("version").get<std::string>()), {}};
    for (const Json& kernel : json.at("kernels")) {
      listing.kernels.push_back({kernel.at("id").get<std::string>(), kernel.at("problem").get<int>(),
                                 kernel.at("device_type").get<int>(), kernel.at("description").get<std::string>()});
    }
    return listing;
  } catch (const Json::exception&) {
    throw PluginFault("the process that loaded the library answered with something else than its kernels");
  }
}

}  // namespace

PluginListing list_plugin(const std::filesystem::path& path, double seconds) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw UsageError("plugin " + quote(path.string()) + ": no such file, legal: a shared library (.so)");
  }
  const std::string absolute = std::filesystem::absolute(path).string();
  const ChildAnswer said = ask_child([&] { return answer(absolute); }, {.seconds = seconds, .bytes = kMostText});
  if (said.end == ChildAnswer::End::timed_out) {
    throw PluginFault(fmt::format("the library was not loaded within {} s", seconds));
  }
  if (!said.answered()) {
    throw PluginFault("the process that loaded the library " + said.complaint());
  }
  const char kind = said.text.empty() ? '\0' : said.text[0];
  const std::string rest = said.text.substr(std::min<std::size_t>(said.text.size(), 1));
  if (kind == kUsage) throw UsageError(printable(rest, 400));
  if (kind == kFault) throw PluginFault(printable(rest, 400));
  return parse(rest);
}

}  // namespace flashproof
