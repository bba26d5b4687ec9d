#include "reports/plugin/before.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "properties/generators/family.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"
#include "reports/plugin/block.h"
#include "reports/suggest/candidates.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMostRecordBytes = std::uint64_t{64} << 20;
constexpr std::size_t kCases = 24;       // by which bounds are compared
constexpr std::int64_t kColumns = 1024;  // for lanes that follow from them

std::optional<Arithmetic> with_members(const Kernel& kernel, const std::string& members) {
  if (kernel.problem == ProblemKind::backward) return std::nullopt;
  try {
    Json json = Json::parse(arithmetic_json(kernel.arithmetic, kColumns));
    json.update(strict_json<Json>("{" + members + "}"));
    return parse_arithmetic(json.dump(), kernel.problem, kernel.formats[0]);
  } catch (const std::exception&) {  // of a file that someone changed, or of another version's fields
    return std::nullopt;
  }
}

std::vector<Case> some_cases(const Kernel& kernel) {
  std::vector<Case> cases;
  for (const Family& family : families()) {
    if (!family.serves(kernel.problem) || cases.size() >= kCases) continue;
    const CaseSpec spec{
        kernel.problem, std::string(family.name), 0, {{"format", std::string(info(kernel.formats[0]).name)}}};
    try {
      Case one = make_case(spec);
      if (kernel.unsupported(one.problem).empty()) cases.push_back(std::move(one));
    } catch (const UsageError&) {  // the family has no such case
    }
  }
  return cases;
}

/// " Its bound is 1.8 times as wide", where both have one.
std::string width_text(const Kernel& kernel, const std::string& before, const std::string& now) {
  const std::optional<Arithmetic> old = with_members(kernel, before), other = with_members(kernel, now);
  if (!old || !other) return "";
  std::vector<ArithmeticCandidate> list = {{"before", *old}, {"now", *other}};
  sort_by_width(list, some_cases(kernel));
  const auto width = [&](std::string_view name) { return list[list[0].json == name ? 0 : 1].width; };
  const double factor = std::exp2(width("now") - width("before"));
  if (!std::isfinite(factor)) return "";
  if (factor > 1.001)
    return fmt::format(": a wider bound, {:.3g} times on average; what it computes may be less precise", factor);
  return factor < 0.999 ? fmt::format(": a narrower bound, {:.3g} times on average", factor) : ": as wide a bound";
}

}  // namespace

Before::Before(const std::filesystem::path& file) {
  const std::string name = printable(file.string(), 200);
  const auto wrong = [&](const std::string& what) { throw UsageError(name + ": " + what); };
  const std::string text = read_file(file, kMostRecordBytes);
  Json root;
  try {
    root = strict_json<Json>(text);
  } catch (const UsageError& e) {
    wrong(e.what());
  }
  if (!root.is_object() || !root.contains("outcomes") || !root["outcomes"].is_array()) {
    wrong("legal: a file that check ./MY.so --json wrote");
  }
  if (root.contains("partial") && root["partial"] != false)
    wrong("is of a run that did not end, must be of one that did");
  for (const Json& one : root["outcomes"]) {
    const auto field = [&](const char* key) {
      if (!one.is_object() || !one.contains(key) || !one[key].is_string())
        wrong(fmt::format("outcomes: {}: legal: a text", key));
      return one[key].get<std::string>();
    };
    const std::string kernel = field("kernel"), format = field("format");
    explained_[{kernel, format}] = field("suggestion");
  }
}

std::vector<std::string> Before::changes(const PluginReport& report) const {
  std::vector<std::string> list;
  for (const PluginOutcome& outcome : report.outcomes) {
    const Kernel& kernel = *outcome.kernel;
    const auto found = explained_.find({std::string(kernel.id), std::string(info(kernel.formats[0]).name)});
    if (found == explained_.end() || found->second == outcome.suggestion) continue;
    if (found->second.empty() || outcome.suggestion.empty())
      continue;  // declared, or explained by nothing: said elsewhere
    list.push_back(fmt::format("{}: explained by {}, before by {}{}", full_name(kernel), outcome.suggestion,
                               one_line(found->second), width_text(kernel, found->second, outcome.suggestion)));
  }
  return list;
}

}  // namespace flashproof
