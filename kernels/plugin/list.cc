// The question to a library, in a child: the text that comes back is as little trusted as the library.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "kernels/plugin/load.h"
#include "reference/problem/descriptor.h"
#include "reference/problem/error.h"
#include "reference/problem/process.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostText = std::size_t{1} << 24;  // of the whole answer
constexpr std::size_t kMostString = 65537;  // one more than describe() takes, so that a longer one is refused, not cut
constexpr char kListing = 'k', kUsage = 'u', kFault = 'f', kEnd = '\0';  // no answer has a 0 within
constexpr int kPatience = 1000;  // milliseconds that a child without a pipe may take to end

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

[[noreturn]] void child(int to, const std::string& path, pid_t parent) {
  die_with_parent(parent);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is the parent's data
  std::string text = answer(path);
  text.push_back(kEnd);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::write(to, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(3);
    sent += static_cast<std::size_t>(n);
  }
  ::_exit(0);
}

/// What came until kEnd, or until the other end closed; why nothing more was read, else.
std::string read_answer(int from, double seconds, std::string& text) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  char chunk[65536];
  while (text.empty() || text.back() != kEnd) {
    const auto left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
    if (left <= 0) return fmt::format("the library was not loaded within {} s", seconds);
    if (text.size() > kMostText) return fmt::format("the library says more than {} bytes of its kernels", kMostText);
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left * 1000) + 1) <= 0) continue;
    const ssize_t n = ::read(from, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(chunk, static_cast<std::size_t>(n));
  }
  return "";
}

/// Its status; who does not end by itself is ended.
int bury(pid_t pid, int patience) {
  int status = 0;
  for (int waited = 0; ::waitpid(pid, &status, WNOHANG) == 0; ++waited) {
    if (waited == patience) ::kill(pid, SIGKILL);
    ::usleep(1000);
  }
  return status;
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
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw InfrastructureError(std::string("pipe: ") + std::strerror(errno));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw InfrastructureError(std::string("fork: ") + std::strerror(errno));
  if (pid == 0) child(to.get(), absolute, parent);
  to.close();
  std::string text;
  const std::string why = read_answer(from.get(), seconds, text);
  const bool whole = !text.empty() && text.back() == kEnd;
  // With the answer, or without a hope of one, the child is of no more use, whatever the library has it do.
  const int status = bury(pid, whole || !why.empty() ? 0 : kPatience);
  if (!why.empty()) throw PluginFault(why);
  if (!whole || text.size() < 2) {
    throw PluginFault("the process that loaded the library " + describe_status(status));
  }
  text.pop_back();
  const std::string rest = text.substr(1);
  if (text[0] == kUsage) throw UsageError(printable(rest, 400));
  if (text[0] == kFault) throw PluginFault(printable(rest, 400));
  return parse(rest);
}

}  // namespace flashproof
