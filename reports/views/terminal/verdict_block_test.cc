#include "reports/views/terminal/verdict_block.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

namespace flashproof {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

VerdictBlock crowded(std::size_t causes, std::size_t notes) {
  VerdictBlock block{BlockOutcome::fail, std::string(400, 'x') + " " + std::string(90, 'y'), {}, {}, {}, {}};
  block.tested.push_back({"tested", std::string(5000, 'w')});
  for (std::size_t i = 0; i < causes; ++i) {
    block.causes.push_back(
        {fmt::format("cause {} ", i) + std::string(500, 'c'), std::string(300, 'e'),
         "./flashproof replay 'attention:mask_first_tile:0:format=f32' --kernel attention.online_chunk.hardened"
         " --exec cuda --math native"});
  }
  for (std::size_t i = 0; i < notes; ++i) block.notes.push_back({"note", fmt::format("number {}", i)});
  block.rest.push_back({"written", "out/report.html"});
  return block;
}

TEST(VerdictBlock, has_at_most_60_lines_of_100_columns_whatever_was_found) {
  for (const std::size_t causes : {0, 1, 2, 8, 500}) {
    for (const std::size_t notes : {0, 1, 30, 500}) {
      const std::string text = block_text(crowded(causes, notes), Colour::off);
      const std::vector<std::string> lines = lines_of(text);
      EXPECT_LE(lines.size(), kBlockLines) << causes << " causes, " << notes << " notes";
      for (const std::string& line : lines) EXPECT_LE(line.size(), kBlockColumns) << line;
      EXPECT_THAT(text, testing::StartsWith("FAIL"));
      EXPECT_THAT(text, testing::HasSubstr("out/report.html"));
      if (causes > 0) EXPECT_THAT(text, testing::HasSubstr("cause 0"));
    }
  }
}

TEST(VerdictBlock, says_how_many_causes_did_not_fit) {
  const std::string text = block_text(crowded(500, 0), Colour::off);
  std::size_t shown = 0;
  for (const std::string& line : lines_of(text)) shown += line.find("cause ") == 4 ? 1 : 0;
  EXPECT_GT(shown, 2U);
  EXPECT_THAT(text, testing::HasSubstr(fmt::format("{} more causes: --verbose", 500 - shown)));
}

TEST(VerdictBlock, says_what_shows_the_rest) {
  VerdictBlock block = crowded(500, 500);
  block.more = "result.details()";
  const std::string text = block_text(block, Colour::off);
  EXPECT_THAT(text, testing::HasSubstr("more causes: result.details()"));
  EXPECT_THAT(text, testing::HasSubstr("and more: result.details()"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("more: --verbose")));
}

TEST(VerdictBlock, folds_a_command_so_that_a_shell_takes_it_as_one) {
  const std::vector<std::string> lines = lines_of(block_text(crowded(1, 0), Colour::off));
  const auto at = std::ranges::find_if(lines, [](const std::string& l) { return l.find("./flashproof") == 4; });
  ASSERT_NE(at, lines.end());
  EXPECT_THAT(*at, testing::EndsWith(" \\"));
  EXPECT_THAT(*(at + 1), testing::EndsWith("--math native"));
}

TEST(VerdictBlock, folds_a_command_at_no_space_within_quotes) {
  VerdictBlock block{BlockOutcome::fail, "a", {}, {}, {}, {}};
  const std::string quoted =
      R"('{"preset": "unknown", "block": 128, "sums": "tree", "exponent": "fused", "reduction": "x"}')";
  block.causes.push_back({"s", "e", "python3 -m flashproof my.py:f --arithmetic " + quoted + " --replay x"});
  const std::string text = block_text(block, Colour::off);
  EXPECT_THAT(text, testing::HasSubstr(quoted + " \\\n"));
}

TEST(VerdictBlock, has_colour_only_where_it_is_asked_for_and_the_same_text) {
  const VerdictBlock block = crowded(2, 2);
  const std::string plain = block_text(block, Colour::off), colourful = block_text(block, Colour::on);
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  EXPECT_NE(colourful.find("\033[31m"), std::string::npos);
  std::string stripped;
  for (std::size_t i = 0; i < colourful.size(); ++i) {
    if (colourful[i] == '\033') {
      i = colourful.find('m', i);
    } else {
      stripped += colourful[i];
    }
  }
  const auto same = [](std::string a) {  // spaces at the end of a line may lie inside a colour
    std::string out;
    for (std::string line : lines_of(a)) out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    return out;
  };
  EXPECT_EQ(same(stripped), same(plain));
}

TEST(VerdictBlock, shows_text_from_outside_without_control_characters) {
  VerdictBlock block{BlockOutcome::fail, "a\033[31mb\nc", {}, {{"x\ty", "\u202e", ""}}, {{"n", "\x9b"}}, {}};
  for (const char c : block_text(block, Colour::off)) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace flashproof
