#include "properties/driver/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "reference/system/shown_text.h"

namespace flashproof {
namespace {

std::string test_case(const JunitCase& one) {
  std::string xml =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml_escaped(one.classname), xml_escaped(one.name));
  const std::string message = xml_escaped(one.message);
  switch (one.outcome) {
    case JunitOutcome::passed:
      return xml + "/>\n";
    case JunitOutcome::skipped:
      return xml + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", message);
    case JunitOutcome::failed:
      return xml + fmt::format(">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
                               xml_escaped(one.type), message, message);
  }
  return xml;
}

}  // namespace

std::string xml_escaped(std::string_view raw) {
  std::string escaped;
  for (const char c : shown_lines(raw)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

void fail_as_a_whole(JunitSuite& suite, std::string_view classname, const std::string& whole) {
  const bool told = std::ranges::find(suite.cases, JunitOutcome::failed, &JunitCase::outcome) != suite.cases.end();
  if (whole.empty() || told) return;
  suite.cases.push_back({std::string(classname), "run", JunitOutcome::failed, "run", whole});
}

std::string junit_xml(std::span<const JunitSuite> suites) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const JunitSuite& suite : suites) {
    const auto failures = std::ranges::count(suite.cases, JunitOutcome::failed, &JunitCase::outcome);
    const auto skipped = std::ranges::count(suite.cases, JunitOutcome::skipped, &JunitCase::outcome);
    xml += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
                       xml_escaped(suite.name), suite.cases.size(), failures, skipped);
    if (!suite.properties.empty()) xml += "    <properties>\n";
    for (const auto& [name, value] : suite.properties) {
      xml += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml_escaped(name), xml_escaped(value));
    }
    if (!suite.properties.empty()) xml += "    </properties>\n";
    for (const JunitCase& one : suite.cases) xml += test_case(one);
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace flashproof
