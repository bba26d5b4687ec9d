#include "properties/driver/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace flashproof {
namespace {

/// The same text, with U+FFFD for what is no UTF-8: paths may hold anything.
std::string valid_utf8(std::string_view text) {
  const nlohmann::json json = std::string(text);
  const std::string dumped = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(dumped).get<std::string>();
}

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
  const std::string text = valid_utf8(raw);
  std::string escaped;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
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
      case '\xef':  // U+FFFE and U+FFFF are the UTF-8 EF BF BE and EF BF BF: no characters of XML
        if (text.compare(i, 3, "\xef\xbf\xbe") == 0 || text.compare(i, 3, "\xef\xbf\xbf") == 0) {
          escaped += "\xef\xbf\xbd";
          i += 2;
          break;
        }
        escaped += c;
        break;
      default:
        escaped += static_cast<unsigned char>(c) >= 0x20 ? c : '?';
    }
  }
  return escaped;
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
