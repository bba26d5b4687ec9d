#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/content.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/union.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kMostIndex = 256U << 20U;

class Export {
 public:
  explicit Export(fs::path to) : to_(std::move(to)) {}

  /// Writes the bytes, once; returns the file's path inside the folder.
  std::string put(const Subject& subject, const Bytes& bytes, const char* extension) {
    const std::string part = subject_folder({subject.kernel, "", subject.format});
    const std::string file = part + "/" + content_name(bytes) + extension;
    if (!files_.insert(file).second) return file;
    std::error_code error;
    fs::create_directories(to_ / part, error);
    if (error)
      throw InfrastructureError(
          fmt::format("{}: cannot be made: {}", printable((to_ / part).string(), 4096), error.message()));
    if (read_regular(to_ / file, bytes.size()) != bytes) write_atomically(to_ / file, std::as_bytes(std::span(bytes)));
    return file;
  }

  void remove_others(const std::vector<std::string>& before) const {
    for (const std::string& file : before) {
      std::error_code ignored;  // it may be gone already
      if (!files_.contains(file)) fs::remove(to_ / file, ignored);
    }
  }

 private:
  fs::path to_;
  std::set<std::string> files_;
};

/// Whether it is a name that put() makes: an index from elsewhere must not make us remove other files.
bool is_ours(const std::string& file) {
  const std::size_t slash = file.find('/');
  if (slash == std::string::npos || file_name(file.substr(0, slash)) != file.substr(0, slash)) return false;
  std::string name = file.substr(slash + 1);
  constexpr std::string_view kWitness = ".safetensors";
  constexpr std::size_t kDigits = 40;
  if (name.ends_with(kWitness)) name.resize(name.size() - kWitness.size());
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// The files that an earlier export wrote here.
std::vector<std::string> files_of(const fs::path& index) {
  std::error_code error;
  if (!fs::exists(index, error)) return {};
  const auto bytes = read_regular(index, kMostIndex);
  std::vector<std::string> files;
  try {
    if (!bytes) throw UsageError("");
    const json old = strict_json<json>({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    for (const auto& [kind, entries] : old.items()) {
      for (const json& entry : entries) {
        for (const char* key : {"file", "witness"}) {
          if (!entry.contains(key)) continue;
          files.push_back(entry.at(key).get<std::string>());
          if (!is_ours(files.back())) throw UsageError("");
        }
      }
    }
  } catch (const std::exception&) {
    throw UsageError(
        fmt::format("--to: {}: is no index of an export; choose another folder", printable(index.string(), 4096)));
  }
  return files;
}

json subject_json(const Subject& s) {
  return {{"target", s.target}, {"kernel", s.kernel}, {"format", s.format}, {"exec", s.executor}, {"math", s.math}};
}

}  // namespace

void export_campaign(const fs::path& from, const fs::path& to) {
  const CampaignFolder folder{from};
  std::error_code error;
  if (!fs::is_regular_file(folder.archive(), error)) {
    throw UsageError(
        fmt::format("{}: no campaign is there (it has no archive.sqlite)", printable(from.string(), 4096)));
  }
  if (fs::exists(to, error) && !fs::is_directory(to, error)) {
    throw UsageError(fmt::format("--to: {}: must be a folder or a new name", printable(to.string(), 4096)));
  }
  const auto before = files_of(to / "index.json");
  const Archive archive(folder.archive(), Archive::Open::read_only);
  Export out(to);
  fs::create_directories(to, error);
  json elites = json::array(), findings = json::array();
  for (const Elite& e : archive.elites()) {  // by key already
    elites.push_back(subject_json(e.subject));
    elites.back().update({{"shape_class", e.shape_class},
                          {"term", e.term},
                          {"ratio", e.ratio},
                          {"case", e.case_line},
                          {"where", e.where},
                          {"file", out.put(e.subject, e.input, "")}});
  }
  for (const Finding& f : archive.findings()) {
    findings.push_back(subject_json(f.subject));
    findings.back().update({{"what", f.what},
                            {"shape_class", f.shape_class},
                            {"term", f.term},
                            {"schedule", f.schedule},
                            {"ratio", f.ratio},
                            {"case", f.case_line},
                            {"detail", f.detail}});
    if (!f.input.empty()) findings.back()["file"] = out.put(f.subject, f.input, "");
    if (!f.witness.empty()) {
      findings.back()["witness"] = out.put(f.subject, f.witness, ".safetensors");
      findings.back()["brief"] = f.brief;
    }
  }
  const json index = {{"elites", elites}, {"findings", findings}};
  write_atomically(to / "index.json", index.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  out.remove_others(before);
  fmt::print("{}: {} elites, {} findings\n", printable(to.string(), 4096), elites.size(), findings.size());
}

}  // namespace flashproof
