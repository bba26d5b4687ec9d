// What --gate and --waivers read: rules, and exceptions to them with a reason and an end.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare/views/document.h"

namespace flashproof::compare {

/// Globs over what a rule is about, and limits; a limit that is not given is not checked.
struct Rule {
  std::string name;  // begins the ids of its reasons
  std::vector<std::string> kernels{"*"}, formats{"*"}, executors{"*"}, maths{"*"}, families{"*"}, benchmarks{"*"};
  bool no_class_worse = false;
  bool no_missing = false;                     // every record of BASE is in HEAD
  std::optional<double> max_ratio;             // error/bound in HEAD at most
  std::optional<double> ratio_growth_percent;  // of the worst error/bound
  double ratio_floor = 0;                      // growth to a ratio up to this is no growth
  std::optional<double> ulp_growth;            // of the worst error in ulp, by so many ulp
  std::optional<double> p99_growth_octaves;    // of the ulp's 99 % quantile
  std::optional<double> slower_percent;        // the whole interval of the ratio lies above this
  bool allow_empty = false;                    // what selects nothing is a reason, but for this

  bool about_records() const;
  /// A limit on the errors of HEAD.
  bool about_errors() const;
  bool takes(const Key& key) const;
  bool takes_benchmark(std::string_view name) const;
};

struct Policy {
  std::string file;
  std::vector<Rule> rules;
};

struct Waiver {
  std::string id;  // RULE/ and a glob over what follows in the ids of its reasons
  std::string reason;
  std::chrono::year_month_day expires;  // its last day
  std::string place;                    // FILE:LINE
};

/// Throw UsageError FILE:LINE: KEY: ... for everything that is not exactly right.
Policy read_policy(const std::filesystem::path& file);
Policy parse_policy(std::string_view text, const std::string& name);
std::vector<Waiver> read_waivers(const std::filesystem::path& file);
/// Each must be of one of the policy's rules.
void check_waivers(const Policy& policy, const std::vector<Waiver>& waivers);
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& name);

}  // namespace flashproof::compare
