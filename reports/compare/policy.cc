#include "reports/compare/policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "properties/generators/glob.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/compare/toml_reader.h"

namespace flashproof::compare {
namespace {

constexpr double kMostPercent = 1e6, kMostUlp = 1e12, kMostOctaves = 64;

bool any_matches(const std::vector<std::string>& globs, std::string_view name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
}

/// [a-z0-9-], as an id begins.
bool is_rule_name(std::string_view text) {
  return !text.empty() && text.size() <= 40 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Rule read_rule(TomlTable table) {
  Rule rule;
  const auto name = table.text("name", "a string");
  if (!name) throw UsageError(table.place() + ": rule.name: is missing; legal: [a-z0-9_-], at most 40");
  if (!is_rule_name(*name)) table.wrong("name", "must be [a-z0-9_-], at most 40 of them, not " + quote(*name));
  rule.name = *name;
  const auto globs = [&](std::string_view key, std::vector<std::string>& to) {
    if (const auto given = table.texts(key, "a glob")) to = *given;
  };
  globs("kernel", rule.kernels);
  globs("format", rule.formats);
  globs("executor", rule.executors);
  globs("math", rule.maths);
  globs("family", rule.families);
  globs("benchmark", rule.benchmarks);
  rule.no_class_worse = table.flag("no_class_worse").value_or(false);
  rule.no_missing = table.flag("no_missing").value_or(false);
  rule.allow_empty = table.flag("allow_empty").value_or(false);
  rule.max_ratio = table.number("max_ratio", 0, 1e6);
  rule.ratio_growth_percent = table.number("ratio_growth_percent", 0, kMostPercent);
  rule.ratio_floor = table.number("ratio_floor", 0, 1).value_or(0);
  rule.ulp_growth = table.number("ulp_growth", 0, kMostUlp);
  rule.p99_growth_octaves = table.number("p99_growth_octaves", 0, kMostOctaves);
  rule.slower_percent = table.number("slower_percent", 0, kMostPercent);
  table.finish();
  if (table.has("ratio_floor") && !rule.ratio_growth_percent) {
    table.wrong("ratio_floor", "means nothing without ratio_growth_percent");
  }
  if (!rule.about_records() && !rule.slower_percent) {
    throw UsageError(
        fmt::format("{}: rule {}: checks nothing; legal: at least one of no_class_worse, no_missing, max_ratio, "
                    "ratio_growth_percent, ulp_growth, p99_growth_octaves, slower_percent",
                    table.place(), rule.name));
  }
  return rule;
}

Policy policy_of(const TomlFile& file) {
  Policy policy;
  TomlTable root = file.root();
  for (TomlTable& table : root.tables("rule")) {
    policy.rules.push_back(read_rule(table));
    const auto same = [&](const Rule& r) { return r.name == policy.rules.back().name; };
    if (std::ranges::count_if(policy.rules, same) > 1) {
      table.wrong("name", quote(policy.rules.back().name) + " names a rule above, too; legal: a name of its own");
    }
  }
  root.finish();
  return policy;
}

std::vector<Waiver> waivers_of(const TomlFile& file) {
  std::vector<Waiver> list;
  TomlTable root = file.root();
  for (TomlTable& table : root.tables("waiver")) {
    const auto missing = [&](std::string_view key, std::string_view legal) {
      throw UsageError(fmt::format("{}: waiver.{}: is missing; legal: {}", table.place(), key, legal));
    };
    Waiver w;
    w.place = table.place();
    const auto id = table.text("id", "the id of a reason, or a glob over ids");
    const auto reason = table.text("reason", "words that say why");
    const auto expires = table.date("expires");
    table.finish();
    if (!id) missing("id", "the id of a reason, or a glob over ids");
    if (!reason) missing("reason", "words that say why");
    if (reason->find_first_not_of(" \t\r\n") == std::string::npos)
      table.wrong("reason", "must be words that say why, not blanks");
    if (!expires) missing("expires", "the last day it holds, like 2026-12-31");
    // A wildcard there would waive what rules to come will say.
    const std::size_t slash = id->find('/');
    if (slash == std::string::npos || slash + 1 == id->size() ||
        !is_rule_name(std::string_view(*id).substr(0, slash))) {
      table.wrong("id", "must begin with a rule's name and /, without a wildcard there, not " + quote(*id));
    }
    w.id = *id;
    w.reason = one_line(*reason);
    w.expires = *expires;
    list.push_back(std::move(w));
  }
  root.finish();
  return list;
}

}  // namespace

bool Rule::about_records() const { return no_class_worse || no_missing || about_errors(); }

bool Rule::about_errors() const { return max_ratio || ratio_growth_percent || ulp_growth || p99_growth_octaves; }

bool Rule::takes(const Key& key) const {
  // Two kernels beside each other are "BASE -> HEAD": a rule is about a pair if it is about one of them.
  const std::size_t arrow = key.kernel.find(" -> ");
  const bool one_of_two =
      arrow != std::string::npos && (any_matches(kernels, std::string_view(key.kernel).substr(0, arrow)) ||
                                     any_matches(kernels, std::string_view(key.kernel).substr(arrow + 4)));
  return (one_of_two || any_matches(kernels, key.kernel)) && any_matches(formats, key.format) &&
         any_matches(executors, key.executor) && any_matches(maths, key.math) && any_matches(families, key.family);
}

bool Rule::takes_benchmark(std::string_view name) const { return any_matches(benchmarks, name); }

Policy read_policy(const std::filesystem::path& file) {
  const TomlFile toml(file);
  Policy policy = policy_of(toml);
  policy.file = printable(file.string(), 200);
  if (policy.rules.empty()) throw UsageError(policy.file + ": has no [[rule]]; legal: at least one");
  return policy;
}

Policy parse_policy(std::string_view text, const std::string& name) {
  const TomlFile toml(text, name);
  Policy policy = policy_of(toml);
  policy.file = name;
  if (policy.rules.empty()) throw UsageError(name + ": has no [[rule]]; legal: at least one");
  return policy;
}

void check_waivers(const Policy& policy, const std::vector<Waiver>& waivers) {
  for (const Waiver& w : waivers) {
    const std::string rule = w.id.substr(0, w.id.find('/'));
    if (std::ranges::any_of(policy.rules, [&](const Rule& r) { return r.name == rule; })) continue;
    std::string legal;
    for (const Rule& r : policy.rules) legal += (legal.empty() ? "" : ", ") + r.name;
    throw UsageError(
        fmt::format("{}: waiver.id: {} is no rule of {}; legal: {}", w.place, quote(rule), policy.file, legal));
  }
}

std::vector<Waiver> read_waivers(const std::filesystem::path& file) { return waivers_of(TomlFile(file)); }

std::vector<Waiver> parse_waivers(std::string_view text, const std::string& name) {
  return waivers_of(TomlFile(text, name));
}

}  // namespace flashproof::compare
