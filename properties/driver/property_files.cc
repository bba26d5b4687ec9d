#include "properties/driver/property_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "properties/driver/junit.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

std::string junit_message(const PropertyResult& result, const std::string& program) {
  std::string text = finding_line(result);
  if (!result.failure) return text;
  if (!result.failure->witness.empty()) text += "\nwitness: " + result.failure->witness;
  return text + "\nreplay: " + replay_line(program, result);
}

}  // namespace

std::string replay_line(const std::string& program, const PropertyResult& result) {
  const PropertyFailure& failure = *result.failure;
  std::string text =
      fmt::format("{} --kernel {} --law {}", program, shell_word(std::string(result.kernel)), result.law);
  if (!failure.run.empty()) return text + " " + failure.run;
  for (const CaseSpec& spec : failure.together) text += " --replay " + shell_word(to_string(spec));
  if (!failure.together.empty()) return text;
  return text + " --replay " + shell_word(failure.witness.empty() ? to_string(failure.spec) : failure.witness);
}

std::string finding_line(const PropertyResult& result) {
  // What stopped a law before it could judge is no word of the law's.
  constexpr std::string_view kNotJudged = "not judged: ";
  if (result.skipped() && result.does_not_apply.starts_with(kNotJudged)) return one_line(result.does_not_apply);
  if (result.skipped()) return "the law says nothing about this kernel: " + one_line(result.does_not_apply);
  if (!result.failure) return "the kernel takes none of these cases: nothing was tested";
  const PropertyFailure& failure = *result.failure;
  return fmt::format("{} {}{}  {}", to_string(Verdict{failure.verdict.kind, failure.verdict.failure, {}}),
                     to_string(failure.spec), failure.shrunk.empty() ? "" : " (shrunk to " + failure.shrunk + ")",
                     one_line(failure.verdict.detail));
}

std::string junit_text(std::span<const PropertyResult> results, const std::string& program, std::string_view kernel,
                       const std::string& whole) {
  JunitSuite suite{"flashproof"};
  for (const PropertyResult& result : results) {
    JunitCase& one = suite.cases.emplace_back();
    one.classname = result.kernel;
    one.name = result.law;
    if (result.skipped()) {
      one.outcome = JunitOutcome::skipped;
      one.message = finding_line(result);
    } else if (result.finding()) {
      one.outcome = JunitOutcome::failed;
      one.type = name(result.failure ? result.failure->verdict.failure : Failure::error);
      one.message = junit_message(result, program);
    } else if (result.unproven()) {
      one.outcome = JunitOutcome::failed;
      one.type = "undecided";
      one.message = result.undecided;
    }
  }
  fail_as_a_whole(suite, kernel, whole);
  return junit_xml(std::span(&suite, 1));
}

std::string json_text(std::span<const PropertyResult> results, const PropertyOptions& options,
                      const std::string& program) {
  nlohmann::ordered_json root{{"seed", options.seed}, {"cases", options.cases}};
  auto& list = root["results"] = nlohmann::ordered_json::array();
  for (const PropertyResult& result : results) {
    nlohmann::ordered_json one{
        {"kernel", result.kernel}, {"law", result.law}, {"finding", result.finding()}, {"skipped", result.skipped()}};
    for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
      one["cases"][std::string(name(static_cast<VerdictKind>(kind)))] = result.counts[kind];
    }
    for (const auto& [family, counts] : result.by_family) {
      for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
        if (counts[kind] > 0) one["families"][family][std::string(name(static_cast<VerdictKind>(kind)))] = counts[kind];
      }
    }
    if (result.finding() || result.skipped()) one["message"] = finding_line(result);
    if (result.unproven()) one["undecided"] = result.undecided;
    if (!result.suggestion.empty()) one["suggestion"] = result.suggestion;
    if (result.failure) {
      one["case"] = to_string(result.failure->spec);
      one["witness"] = result.failure->witness;
      one["replay"] = replay_line(program, result);
    }
    list.push_back(std::move(one));
  }
  return root.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace flashproof
