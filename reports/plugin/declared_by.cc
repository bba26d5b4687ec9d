#include "reports/plugin/declared_by.h"

#include <fmt/format.h>

#include <vector>

#include "reference/system/error.h"
#include "reference/system/near_matches.h"
#include "reference/system/read_file.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"
#include "reports/compare/toml_reader.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostDescriptionBytes = 65536;  // as of a description
constexpr int kDeepest = 8;

void put_over(const nlohmann::json& fields, nlohmann::json& description) {
  for (const auto& [name, value] : fields.items()) description[name] = value;
}

}  // namespace

nlohmann::json toml_fields(const std::filesystem::path& file) {
  const std::string name = printable(file.string(), 200);
  const std::string text = compare::TomlFile(read_file(file, kMostDescriptionBytes), name).json();
  try {
    return strict_json<nlohmann::json>(text, kDeepest);
  } catch (const UsageError& e) {
    throw UsageError(name + ": " + e.what());
  }
}

DeclaredBy::DeclaredBy(const std::filesystem::path& file)
    : file_(printable(file.string(), 200)), all_(toml_fields(file)) {
  if (const auto kernels = all_.find("kernel"); kernels != all_.end()) {
    kernels_ = *kernels;
    all_.erase(kernels);
    bool tables = kernels_.is_object();
    for (const nlohmann::json& one : kernels_) tables = tables && one.is_object();
    if (!tables) throw UsageError(file_ + ": kernel: legal: tables, each headed [kernel.\"ID\"]");
  }
  if (all_.empty() && kernels_.empty()) throw UsageError(file_ + ": says nothing: legal: fields of a description");
}

std::string DeclaredBy::operator()(const std::string& id, const std::string& description) {
  const auto mine = kernels_.find(id);
  if (all_.empty() && mine == kernels_.end()) return description;
  if (description.size() > kMostDescriptionBytes) return description;
  nlohmann::json json;
  try {
    json = strict_json<nlohmann::json>(description, kDeepest);
  } catch (const UsageError&) {  // describe() says of it what is wrong
    return description;
  }
  if (!json.is_object()) return description;
  put_over(all_, json);
  if (mine != kernels_.end()) put_over(*mine, json);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void DeclaredBy::require_used(const Plugin& plugin) const {
  std::vector<std::string_view> ids;
  for (const Kernel& kernel : plugin.kernels()) ids.push_back(kernel.id);
  for (const auto& [id, fields] : kernels_.items()) {
    if (std::ranges::find(ids, id) != ids.end()) continue;
    const auto near = near_matches(id, ids);
    throw UsageError(fmt::format("{}: kernel {}: the library has none of this id; {}legal: {}", file_, quote(id),
                                 near.empty() ? "" : fmt::format("near: {}; ", fmt::join(near, ", ")),
                                 fmt::join(ids, ", ")));
  }
}

}  // namespace flashproof
