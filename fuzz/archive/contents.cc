#include "fuzz/archive/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <tuple>

#include "fuzz/archive/text_rules.h"
#include "reference/system/error.h"

namespace flashproof {

bool Elite::same_key(const Elite& other) const {
  return std::tie(subject, shape_class, term) == std::tie(other.subject, other.shape_class, other.term);
}

bool minimisable(const Finding& finding) {
  const std::string_view what = finding.what;
  for (const std::string_view ending : {"crash", "hang", "memory", "sanitizer"}) {
    if (what == ending) return false;
  }
  if (what.starts_with("batch:")) return false;
  return finding.subject.executor == "cpu" || !(what == "error" || what.ends_with(":error"));
}

bool Finding::same_key(const Finding& other) const {
  return std::tie(subject, what, shape_class, term) ==
         std::tie(other.subject, other.what, other.shape_class, other.term);
}

namespace archive {
namespace {

template <class... T>
std::string joined(const Subject& subject, const T&... names) {
  std::string result;
  const auto append = [&](const std::string& name) {
    if (name.size() <= kKeyBytes && is_clean(name)) {
      result += name;
    } else {
      result += clean(name, kKeyBytes);
    }
    result += '\0';
  };
  for (const std::string* name :
       {&subject.target, &subject.kernel, &subject.format, &subject.executor, &subject.math, &names...}) {
    append(*name);
  }
  return result;
}

void clean_all(std::size_t limit, std::initializer_list<std::string*> texts) {
  for (std::string* text : texts) {
    if (text->size() > limit || !is_clean(*text)) *text = clean(*text, limit);
  }
}

void clean_subject(Subject& subject) {
  clean_all(kKeyBytes, {&subject.target, &subject.kernel, &subject.format, &subject.executor, &subject.math});
}

void check_size(const char* name, std::size_t size, std::size_t limit) {
  if (size > limit) throw UsageError(fmt::format("archive: {} has {} bytes, at most {} are legal", name, size, limit));
}

}  // namespace

std::string key_of(const Elite& elite) { return joined(elite.subject, elite.shape_class, elite.term); }
std::string key_of(const Finding& finding) {
  return joined(finding.subject, finding.what, finding.shape_class, finding.term);
}

bool wins(const Elite& a, const Elite& b) {
  if (a.ratio != b.ratio) return a.ratio > b.ratio;
  if (a.input.size() != b.input.size()) return a.input.size() < b.input.size();
  return std::tie(a.input, a.found, a.case_line, a.where) < std::tie(b.input, b.found, b.case_line, b.where);
}

bool earlier(const Finding& a, const Finding& b) {
  if (a.first != b.first) return a.first < b.first;
  if (a.input.size() != b.input.size()) return a.input.size() < b.input.size();
  return std::tie(a.input, b.ratio, a.schedule, a.case_line, a.detail) <
         std::tie(b.input, a.ratio, b.schedule, b.case_line, b.detail);
}

bool smaller(const Witness& a, const Witness& b) {
  if (a.bytes.size() != b.bytes.size()) return a.bytes.size() < b.bytes.size();
  return std::tie(a.bytes, a.brief) < std::tie(b.bytes, b.brief);
}

bool further(const Run& a, const Run& b) {
  return std::tie(a.executions, a.judged, a.escalated, a.seconds, a.subject) >
         std::tie(b.executions, b.judged, b.escalated, b.seconds, b.subject);
}

void check_ratio(const Elite& elite) {
  if (elite.ratio >= 0 && std::isfinite(elite.ratio)) return;
  throw UsageError(fmt::format("archive: the ratio of an elite is {}, must be finite and >= 0", elite.ratio));
}

Elite checked(Elite elite) {
  check_ratio(elite);
  elite.ratio += 0.0;  // no -0: SQLite knows none
  check_size("the input of an elite", elite.input.size(), kInputBytes);
  clean_subject(elite.subject);
  clean_all(kKeyBytes, {&elite.shape_class, &elite.term});
  clean_all(kLineBytes, {&elite.case_line, &elite.where});
  return elite;
}

Finding checked(Finding finding) {
  if (finding.ratio != -1 && !(finding.ratio >= 0)) {
    throw UsageError(fmt::format("archive: the ratio of a finding is {}, must be >= 0, or -1 for none", finding.ratio));
  }
  finding.ratio += 0.0;
  check_size("the input of a finding", finding.input.size(), kInputBytes);
  check_size("a witness", finding.witness.size(), kWitnessBytes);
  clean_subject(finding.subject);
  clean_all(kKeyBytes, {&finding.what, &finding.shape_class, &finding.term});
  if (finding.witness.empty()) finding.brief.clear();  // it says what the witness holds
  clean_all(kLineBytes, {&finding.schedule, &finding.case_line, &finding.detail, &finding.brief});
  return finding;
}

Run checked(Run run) {
  if (!(run.seconds >= 0) || !std::isfinite(run.seconds)) {
    throw UsageError(fmt::format("archive: the seconds of a run are {}, must be finite and >= 0", run.seconds));
  }
  run.seconds += 0.0;
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (std::uint64_t* count : {&run.executions, &run.judged, &run.escalated}) *count = std::min(*count, kLargest);
  clean_all(kKeyBytes, {&run.id});
  clean_subject(run.subject);
  return run;
}

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return std::min(kLargest, a) > kLargest - std::min(kLargest, b) ? kLargest : a + b;
}

Hits joined(const Hits& a, const Hits& b, Contents::Join how) {
  return {how == Contents::Join::add ? saturated_sum(a.hits, b.hits) : std::max(a.hits, b.hits),
          std::max(a.last, b.last)};
}

bool Contents::empty() const {
  return elites.empty() && findings.empty() && witnesses.empty() && hits.empty() && runs.empty();
}

void Contents::keep(Elite elite) {
  const auto [there, is_new] = elites.try_emplace(key_of(elite), elite);
  if (!is_new && wins(elite, there->second)) there->second = std::move(elite);
}

void Contents::keep(Finding finding) {
  const std::string key = key_of(finding);
  if (!finding.witness.empty()) keep(key, {std::move(finding.witness), std::move(finding.brief)});
  finding.witness.clear();
  finding.brief.clear();
  finding.hits = 0;
  finding.last = 0;
  const auto [there, is_new] = findings.try_emplace(key, finding);
  if (!is_new && earlier(finding, there->second)) there->second = std::move(finding);
}

void Contents::keep(const std::string& key, Witness witness) {
  const auto [there, is_new] = witnesses.try_emplace(key, witness);
  if (!is_new && smaller(witness, there->second)) there->second = std::move(witness);
}

void Contents::join(const Contents& other, Join how) {
  for (const auto& [key, elite] : other.elites) keep(elite);
  for (const auto& [key, finding] : other.findings) keep(finding);
  for (const auto& [key, witness] : other.witnesses) keep(key, witness);
  for (const auto& [key, count] : other.hits) hits[key] = joined(hits[key], count, how);
  for (const auto& [id, run] : other.runs) {
    const auto [there, is_new] = runs.try_emplace(id, run);
    if (!is_new && (how == Join::add || further(run, there->second))) there->second = run;
  }
}

void Contents::drop_inputs() {
  elites.clear();
  std::erase_if(findings, [&](const auto& entry) { return !witnesses.contains(entry.first); });
  std::erase_if(hits, [&](const auto& entry) { return !findings.contains(entry.first.first); });
  for (auto& [key, finding] : findings) finding.input.clear();
}

std::vector<Finding> Contents::whole_findings() const {
  std::vector<Finding> result;
  for (const auto& [key, finding] : findings) {
    Finding& whole = result.emplace_back(finding);
    whole.last = whole.first;
    for (auto at = hits.lower_bound({key, ""}); at != hits.end() && at->first.first == key; ++at) {
      whole.hits = saturated_sum(whole.hits, at->second.hits);
      whole.last = std::max(whole.last, at->second.last);
    }
    if (const auto witness = witnesses.find(key); witness != witnesses.end()) {
      whole.witness = witness->second.bytes;
      whole.brief = witness->second.brief;
    }
  }
  return result;
}

}  // namespace archive
}  // namespace flashproof
