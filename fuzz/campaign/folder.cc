#include "fuzz/campaign/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "fuzz/campaign/content.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using nlohmann::json;
constexpr std::size_t kMostDescription = 16U << 20U;
constexpr int kVersion = 1;

/// What the lock's file says, after its owner wrote it.
long pid_in(int file) {
  char text[32] = {};
  const ssize_t n = ::pread(file, text, sizeof text - 1, 0);
  std::string_view digits(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  digits = digits.substr(0, digits.find('\n'));
  return static_cast<long>(parse_count(digits).value_or(0));
}

Listed listed_of(const json& one) {
  return {one.at(0).get<std::string>(), one.at(1).get<std::string>(), one.at(2).get<std::string>()};
}

}  // namespace

std::optional<Description> read_description(const CampaignFolder& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder.description(), error)) {
    if (error) throw InfrastructureError(fmt::format("{}: {}", shown(folder.description()), error.message()));
    return std::nullopt;
  }
  const auto bytes = read_regular(folder.description(), kMostDescription);
  if (!bytes)
    throw UsageError(fmt::format("{}: cannot be read, or is no file of a campaign", shown(folder.description())));
  try {
    const json all = strict_json<json>({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (all.at("version").get<int>() != kVersion) {
      throw UsageError(fmt::format("{}: of another version, must be {}", shown(folder.description()), kVersion));
    }
    Description result{all.at("target").get<std::string>(),
                       all.at("starts").get<std::uint64_t>(),
                       all.at("state").get<std::string>(),
                       all.at("program").get<std::string>(),
                       {},
                       all.value("tables", "")};
    for (const json& one : all.at("subjects")) result.listed.push_back(listed_of(one));
    return result;
  } catch (const json::exception& e) {
    throw UsageError(
        fmt::format("{}: not what a campaign writes: {}", shown(folder.description()), printable(e.what(), 120)));
  }
}

void write_description(const CampaignFolder& folder, const Description& d) {
  json subjects = json::array();
  for (const Listed& one : d.listed) subjects.push_back({one.kernel, one.form, one.format});
  const json all = {{"version", kVersion},  {"target", d.target},   {"starts", d.starts}, {"state", d.state},
                    {"program", d.program}, {"subjects", subjects}, {"tables", d.tables}};
  // A path need not be UTF-8; what is not is replaced, since this is for people.
  write_atomically(folder.description(), all.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

void make_folder(const CampaignFolder& folder) {
  for (const auto& part :
       {folder.root, folder.corpus(), folder.rejected(), folder.artifacts(), folder.findings(), folder.log()}) {
    std::error_code error;
    if (std::filesystem::exists(part, error) && !std::filesystem::is_directory(part, error)) {
      throw UsageError(fmt::format("--out: {}: must be a folder or a new name", shown(part)));
    }
    std::filesystem::create_directories(part, error);
    if (error) throw InfrastructureError(fmt::format("{}: cannot be made: {}", shown(part), error.message()));
  }
}

CampaignLock::CampaignLock(const CampaignFolder& folder)
    : file_(::open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  const auto refuse = [&] {
    throw InfrastructureError(fmt::format("{}: {}", shown(folder.lock()), std::strerror(errno)));
  };
  if (!file_) refuse();
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) refuse();
    throw UsageError(fmt::format("{}: another driver works there (pid {}); end it, or choose another --out",
                                 shown(folder.root), pid_in(file_.get())));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), pid.data(), pid.size(), 0) < 0) refuse();
}

std::optional<long> driver_of(const CampaignFolder& folder) {
  const Descriptor file(::open(folder.lock().c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return pid_in(file.get());
}

}  // namespace flashproof
