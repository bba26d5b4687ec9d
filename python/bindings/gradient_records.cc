#include "python/bindings/gradient_records.h"

#include "properties/driver/junit.h"
#include "reference/problem/text.h"

namespace flashproof::python {
namespace {

constexpr const char* kNothingTested = "the callable takes none of these cases";

}  // namespace

std::uint64_t GradientLawRecord::executed() const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    sum += static_cast<VerdictKind>(kind) == VerdictKind::unsupported ? 0 : counts[kind];
  }
  return sum;
}

Json to_json(const GradientLawRecord& law) {
  Json json{{"law", kGradientLaws[law.law]},
            {"finding", law.failure.has_value()},
            {"skipped", law.executed() == 0},
            {"cases", counts(law.counts)}};
  if (!law.failure) {
    if (law.executed() == 0) json["message"] = law.skipped.empty() ? kNothingTested : law.skipped;
    return json;
  }
  json["failure"] = name(law.failure->failure);
  json["message"] = one_line(law.failure->detail);
  json["case"] = law.line;
  json["together"] = Json::array();
  json["shrunk"] = law.shrunk;
  json["witness"] = law.witness;
  json["replay"] = law.replay;
  return json;
}

Json to_json(const GradientFamily& family) {
  return {{"family", family.name},      {"cases", counts(family.counts)}, {"refused", family.refused},
          {"finding", family.finding},  {"dq", statistics(family.dq)},    {"dk", statistics(family.dk)},
          {"dv", statistics(family.dv)}};
}

std::string gradient_junit(std::span<const GradientLawRecord> laws, const std::string& id, const std::string& whole) {
  JunitSuite suite{"flashproof"};
  bool told = whole.empty();
  for (const GradientLawRecord& law : laws) {
    JunitCase& one = suite.cases.emplace_back();
    one.classname = id;
    one.name = kGradientLaws[law.law];
    if (law.failure) {
      one.outcome = JunitOutcome::failed;
      one.type = name(law.failure->failure);
      one.message = law.line + (law.shrunk.empty() ? "" : " (shrunk to " + law.shrunk + ")") + "  " +
                    one_line(law.failure->detail) + "\nreplay: " + law.replay;
    } else if (law.executed() == 0 && !law.skipped.empty()) {
      one.outcome = JunitOutcome::skipped;
      one.message = law.skipped;
    } else if (law.executed() == 0) {
      one.outcome = JunitOutcome::failed;
      one.type = "nothing_tested";
      one.message = kNothingTested;
    } else if (!told) {
      one.outcome = JunitOutcome::failed;
      one.type = "undecided";
      one.message = whole;
      told = true;
    }
  }
  fail_as_a_whole(suite, id, whole);
  return junit_xml(std::span(&suite, 1));
}

}  // namespace flashproof::python
