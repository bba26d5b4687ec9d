#include "kernels/ptx/cuda/dependencies.h"

#include <fmt/format.h>

#include <stdexcept>

#include "kernels/ptx/parse/module.h"
#include "reference/system/read_file.h"

namespace flashproof::ptx {
namespace {

std::string line_of(const Dependency& file) {
  return fmt::format("{:016x}{:016x} {}\n", file.hash.high, file.hash.low, file.path);
}

Dependency as_it_is(std::string path) {
  const Hash hash = hash_of(read_file(path, kMaxFileBytes));
  return {std::move(path), hash};
}

}  // namespace

std::vector<std::string> prerequisites(std::string_view rule) {
  std::vector<std::string> files(1);
  const std::size_t colon = rule.find(" :") != std::string_view::npos ? rule.find(" :") + 1 : rule.find(": ");
  for (std::size_t i = colon == std::string_view::npos ? rule.size() : colon + 1; i < rule.size(); ++i) {
    const bool escaped = rule[i] == '\\' && i + 1 < rule.size();
    if (escaped && (rule[i + 1] == ' ' || rule[i + 1] == '#' || rule[i + 1] == '\\')) {
      files.back() += rule[++i];
    } else if (rule.substr(i, 2) == "$$") {
      files.back() += rule[i++];
    } else if (rule[i] == ' ' || rule[i] == '\n' || (escaped && rule[i + 1] == '\n')) {
      if (!files.back().empty()) files.emplace_back();
    } else {
      files.back() += rule[i];
    }
  }
  if (files.back().empty()) files.pop_back();
  return files;
}

std::vector<Dependency> dependencies_in(std::string_view rule) {
  std::vector<Dependency> made;
  for (std::string& path : prerequisites(rule)) made.push_back(as_it_is(std::move(path)));
  return made;
}

std::string with_dependencies(const std::vector<Dependency>& files, const std::string& ptx) {
  std::string text;
  for (const Dependency& file : files) text += line_of(file);
  return text + "\n" + ptx;
}

std::optional<std::string> unchanged(std::string_view kept) {
  while (!kept.empty() && kept.front() != '\n') {
    const std::size_t end = kept.find('\n');
    const std::size_t name = kept.find(' ') + 1;
    if (end == std::string_view::npos || name == 0 || name > end) return std::nullopt;
    try {
      if (line_of(as_it_is(std::string(kept.substr(name, end - name)))) != kept.substr(0, end + 1)) return std::nullopt;
    } catch (const std::runtime_error&) {  // it is there no longer
      return std::nullopt;
    }
    kept.remove_prefix(end + 1);
  }
  if (kept.empty()) return std::nullopt;
  return std::string(kept.substr(1));
}

}  // namespace flashproof::ptx
