#include "fuzz/campaign/corpus.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

/// What lies in a folder, by name; nothing if there is no such folder.
std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    result.push_back(i->path());
  if (error && error != std::errc::no_such_file_or_directory) {
    throw InfrastructureError(fmt::format("{}: {}", printable(folder.string(), 4096), error.message()));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void make(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw InfrastructureError(fmt::format("{}: cannot be made: {}", printable(folder.string(), 4096), error.message()));
}

void move_aside(const CampaignFolder& folder, const std::string& subject, const fs::path& file) {
  const fs::path aside = folder.rejected() / subject;
  make(aside);
  fs::path name = aside / file.filename();
  for (int i = 1; fs::exists(fs::symlink_status(name)); ++i)
    name = aside / fmt::format("{}.{}", file.filename().string(), i);
  std::error_code error;
  fs::rename(file, name, error);
  if (error) {
    throw InfrastructureError(fmt::format("{}: unfit for a corpus, and cannot be moved away: {}",
                                          printable(file.string(), 4096), error.message()));
  }
}

/// Fit, and what it holds. The engine opens inputs by name, so permission counts, too.
std::optional<Bytes> fit(const fs::path& file, std::size_t longest) {
  if (::access(file.c_str(), R_OK) != 0) return std::nullopt;
  return read_regular(file, longest);
}

enum class Copy : std::uint8_t { added, known, unfit };

Copy copy_input(const fs::path& from, const fs::path& to, std::size_t longest) {
  const auto bytes = fit(from, longest);
  if (!bytes) return Copy::unfit;
  const fs::path target = to / content_name(*bytes);
  std::error_code error;
  if (fs::exists(target, error)) return Copy::known;
  write_atomically(target, std::as_bytes(std::span(*bytes)));
  return Copy::added;
}

}  // namespace

std::size_t longest_input(const std::string& target) {
  constexpr std::size_t kCase = 4096;        // parameters of a case and a schedule
  constexpr std::size_t kFile = 64U << 10U;  // whole witness files
  return target == "witness" ? kFile : kCase;
}

void seed_corpus(const CampaignFolder& folder, const std::string& subject, const fs::path& seeds, std::size_t longest,
                 const std::function<void(const fs::path&)>& more) {
  const fs::path to = folder.corpus() / subject;
  std::error_code error;
  if (fs::is_directory(to, error)) return;
  // Under another name first: a driver killed in between begins again.
  const fs::path half = folder.corpus() / ("." + subject);
  fs::remove_all(half, error);
  make(half);
  for (const fs::path& from : {seeds, seeds / subject}) {
    for (const fs::path& file : entries(from)) {
      if (!fs::is_directory(file, error)) copy_input(file, half, longest);
    }
  }
  if (more) more(half);
  fs::rename(half, to, error);
  if (error)
    throw InfrastructureError(fmt::format("{}: cannot be made: {}", printable(to.string(), 4096), error.message()));
}

std::uint64_t reject_unfit(const CampaignFolder& folder, const std::string& subject, std::size_t longest) {
  std::uint64_t count = 0;
  for (const fs::path& file : entries(folder.corpus() / subject)) {
    if (fit(file, longest)) continue;
    move_aside(folder, subject, file);
    ++count;
  }
  return count;
}

bool reject_input(const CampaignFolder& folder, const std::string& subject, const Bytes& input) {
  bool found = false;
  for (const fs::path& file : entries(folder.corpus() / subject)) {
    std::error_code error;
    if (fs::file_size(file, error) != input.size() || error || read_regular(file, input.size()) != input) continue;
    move_aside(folder, subject, file);
    found = true;
  }
  return found;
}

Copied copy_corpus(const CampaignFolder& from, const CampaignFolder& to, std::size_t longest) {
  Copied result;
  for (const fs::path& subject : entries(from.corpus())) {
    std::error_code error;
    if (!fs::is_directory(subject, error) || subject.filename().string().starts_with('.')) continue;
    const fs::path into = to.corpus() / subject.filename();
    make(into);
    for (const fs::path& file : entries(subject)) {
      const Copy outcome = copy_input(file, into, longest);
      ++(outcome == Copy::added ? result.added : outcome == Copy::known ? result.known : result.unfit);
    }
  }
  return result;
}

void copy_suspects(const CampaignFolder& from, const CampaignFolder& to, std::size_t longest) {
  for (const fs::path& subject : entries(from.suspects())) {
    const fs::path into = to.suspects() / subject.filename();
    make(into);
    std::error_code error;
    for (const fs::path& entry : entries(subject)) {
      if (!fs::is_directory(entry, error)) {
        copy_input(entry, into, longest);
        continue;
      }
      make(into / entry.filename());  // a launch
      for (const fs::path& file : entries(entry)) copy_input(file, into / entry.filename(), longest);
    }
  }
}

std::string suspects_text(const CampaignFolder& folder, const std::string& target) {
  std::uint64_t alone = 0, failed_launches = 0;
  for (const fs::path& subject : entries(folder.suspects())) {
    std::error_code error;
    for (const fs::path& entry : entries(subject)) ++(fs::is_directory(entry, error) ? failed_launches : alone);
  }
  const std::string where = printable(folder.suspects().string(), 4096);
  std::string text;
  if (alone > 0) {
    text += fmt::format(
        "{} inputs of launches that lost the GPU have not run alone yet, in {}: ./flashproof fuzz {} --exec cuda --out "
        "{} "
        "begins with them\n",
        alone, where, target, printable(folder.root.string(), 4096));
  }
  if (failed_launches > 0) {
    text += fmt::format("{} launches failed together and not alone: their inputs are in {}/*.launch\n", failed_launches,
                        where);
  }
  return text;
}

std::uint64_t count_files(const fs::path& folder) {
  std::uint64_t count = 0;
  for (const fs::path& subject : entries(folder)) {
    std::error_code error;
    for (fs::directory_iterator i(subject, error), end; !error && i != end; i.increment(error)) ++count;
  }
  return count;
}

}  // namespace flashproof
