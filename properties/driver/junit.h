// JUnit's XML, as a CI reads it: for the property tests and for reports.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flashproof {

enum class JunitOutcome : std::uint8_t { passed, skipped, failed };

struct JunitCase {
  std::string classname, name;
  JunitOutcome outcome = JunitOutcome::passed;
  std::string type = {};     // of a failure
  std::string message = {};  // why it failed or was skipped
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases = {};
  std::vector<std::pair<std::string, std::string>> properties = {};  // name and value
};

/// Where `whole` says what is wrong with a run and no case fails: one more, "run" of this class, that fails by it.
void fail_as_a_whole(JunitSuite& suite, std::string_view classname, const std::string& whole);

/// Well-formed XML 1.0 whatever the texts hold. A failure's message is its attribute and its text.
std::string junit_xml(std::span<const JunitSuite> suites);

/// For an attribute or a text, where line breaks survive as &#10;. What XML 1.0 cannot hold even escaped: control
/// characters become '?'; U+FFFE, U+FFFF and bytes that are no UTF-8 become U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace flashproof
