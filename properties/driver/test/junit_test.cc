#include "properties/driver/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Junit, what_xml_cannot_hold_is_replaced_and_the_rest_escaped) {
  EXPECT_EQ(xml_escaped("a<b>&\"c\"\n"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;");
  EXPECT_EQ(xml_escaped(std::string_view("\x01\x1f\r\t\0", 5)), "?????");
  EXPECT_EQ(xml_escaped("\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd"), "???|???|???");
  EXPECT_EQ(xml_escaped("\xef\xbe\xbe \xff \xed\xa0\x80"), "\xef\xbe\xbe ? ???");
  EXPECT_EQ(xml_escaped("\xef\xbf"), "??");
  EXPECT_EQ(xml_escaped("\xc2\x9b|\xe2\x80\xae|\xc2\xad"), "??|???|??");
  EXPECT_EQ(xml_escaped("π 𝟙"), "π 𝟙");
}

TEST(Junit, counts_are_those_of_the_suite) {
  const JunitSuite suites[] = {
      {"a",
       {{"c", "1", JunitOutcome::failed, "bound", "<far>"}, {"c", "2", JunitOutcome::skipped, "", "why"}, {"c", "3"}}},
      {"b"}};
  const std::string xml = junit_xml(suites);
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"a\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
  EXPECT_THAT(xml, HasSubstr("<testsuite name=\"b\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\">"));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"bound\" message=\"&lt;far&gt;\">&lt;far&gt;</failure>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"why\"/>"));
  EXPECT_THAT(xml, Not(HasSubstr("<far>")));
}

TEST(Junit, pythons_parser_takes_whatever_the_texts_hold) {
  std::string hostile = "\xff\xfe \xef\xbf\xbe \xef\xbf\xbf \xed\xa0\x80 ]]> <!-- & \" ' π";
  for (int c = 0; c < 0x21; ++c) hostile += static_cast<char>(c);
  hostile += '\x7f';
  const JunitSuite suites[] = {{hostile,
                                {{hostile, hostile, JunitOutcome::failed, hostile, hostile},
                                 {hostile, hostile, JunitOutcome::skipped, "", hostile}}}};
  const std::string file = testing::TempDir() + "flashproof-junit-" + std::to_string(::getpid()) + ".xml";
  std::ofstream(file, std::ios::binary) << junit_xml(suites);
  const std::string parse = "python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' '";
  EXPECT_EQ(std::system((parse + file + "'").c_str()), 0);
  std::ofstream(file, std::ios::binary) << "<a b=\"\xef\xbf\xbe\"/>";  // the control: U+FFFE as it is
  EXPECT_NE(std::system((parse + file + "' 2>/dev/null").c_str()), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace flashproof
