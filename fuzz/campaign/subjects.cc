#include "fuzz/campaign/subjects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "fuzz/campaign/content.h"
#include "properties/generators/glob.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kLongestField = 200;

bool is_field(std::string_view text) {
  return text.size() <= kLongestField &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

/// The names at least one glob matches, as a set; throws for a glob that matches none.
std::set<std::string> matching(std::span<const std::string> globs, const std::set<std::string>& names,
                               std::string_view what) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::set<std::string> result;
  for (const std::size_t i : select_names(globs, views, what)) result.emplace(views[i]);
  return result;
}

}  // namespace

TargetList parse_list(std::string_view text) {
  constexpr std::string_view kTables = "#tables ";
  TargetList result;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with(kTables)) {
      result.tables = line.substr(kTables.size());
      if (result.tables.empty() || !is_field(result.tables)) {
        throw InfrastructureError(fmt::format("--list of the target: {}: must be #tables and a hash", quote(line)));
      }
    }
    if (line.starts_with('#')) continue;
    const std::size_t first = line.find('\t');
    const std::size_t second = first == std::string_view::npos ? first : line.find('\t', first + 1);
    if (second == std::string_view::npos) {
      throw InfrastructureError(
          fmt::format("--list of the target: {}: must be kernel, form and format between tabs", quote(line)));
    }
    Listed one{std::string(line.substr(0, first)), std::string(line.substr(first + 1, second - first - 1)),
               std::string(line.substr(second + 1))};
    if (!is_field(one.kernel) || !is_field(one.form) || !is_field(one.format)) {
      throw InfrastructureError(fmt::format("--list of the target: {}: a field is not a name", quote(line)));
    }
    result.subjects.push_back(std::move(one));
  }
  if (result.subjects.empty()) throw InfrastructureError("--list of the target: it names no subject");
  return result;
}

bool expected_right(const Listed& listed) { return listed.form != "published" && listed.form != "broken"; }

std::vector<Listed> choose(const std::vector<Listed>& listed, std::span<const std::string> kernels,
                           std::span<const std::string> formats) {
  std::set<std::string> all_kernels, all_formats;
  for (const Listed& one : listed) {
    all_kernels.insert(one.kernel);
    all_formats.insert(one.format);
  }
  const auto kernel = matching(kernels, all_kernels, "kernel");
  const auto format = matching(formats, all_formats, "format");
  std::vector<Listed> result;
  for (const Listed& one : listed) {
    const bool wanted = kernels.empty() ? expected_right(one) : kernel.contains(one.kernel);
    if (wanted && format.contains(one.format)) result.push_back(one);
  }
  if (result.empty()) {
    throw UsageError(kernels.empty() ? "--format: no hardened kernel of this target has it; --kernel chooses others"
                                     : "--kernel and --format: each matches something, together nothing");
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::string file_name(std::string_view text) {
  constexpr std::size_t kLongest = 150;
  std::string result(text.substr(0, kLongest));
  for (char& c : result) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '+';
  }
  if (result.empty() || result[0] == '.') result.insert(0, "+");
  return result;
}

std::string subject_folder(const Listed& listed) {
  if (listed.kernel.empty() && listed.format.empty()) return "all";
  return file_name(listed.kernel.empty() ? listed.format : listed.kernel + "." + listed.format);
}

std::string finding_name(const Finding& f) {
  const Subject& s = f.subject;
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", s.target, s.kernel, s.format, s.executor,
                                      s.math, f.what, f.shape_class, f.term);
  // The readable part may be cut or have lost characters; the digest of the whole key tells them apart.
  return fmt::format("{}-{}",
                     file_name(fmt::format("{}.{}.{}.{}.{}", s.kernel.empty() ? s.target : s.kernel, s.format,
                                           s.executor, f.what, f.term))
                         .substr(0, 120),
                     content_name({key.begin(), key.end()}).substr(0, 12));
}

std::string subject_text(const Subject& s) {
  std::string text = s.kernel.empty() ? s.target : s.kernel;
  if (!s.format.empty()) text += " " + s.format;
  if (s.executor != "cpu") text += " " + s.executor;
  return printable(text, 120);
}

}  // namespace flashproof
