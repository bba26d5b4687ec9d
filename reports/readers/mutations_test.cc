// Every reader of a document from outside on mutated documents: what is not refused in one line by UsageError is read, and nothing
// else happens. FLASHPROOF_MUTATIONS of them per reader: some thousand in all, and 100,000 each at night.
#include <gtest/gtest.h>

#include <string>

#include "reference/problem/random.h"
#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/readers/reader_cases.h"

namespace flashproof {
namespace {

/// A few bytes or a span changed, taken out, put twice, or nested deeply.
std::string mutated(std::string text, Random& source) {
  const auto below = [&](std::size_t n) {
    return static_cast<std::size_t>(source.integer(0, static_cast<std::int64_t>(n) - 1));
  };
  constexpr std::string_view kBytes = "\"\\{}[]:,-+.e0919nulltrue\n\t \x00\x1b\x7f\x80\xc2\x9b\xe2\x80\xae\xff";
  for (std::size_t n = 1 + below(4); n > 0; --n) {
    const std::size_t at = below(text.size() + 1), length = below(40);
    switch (below(7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), length));
        break;
      case 3:
        text.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, below(2) == 0 ? "1e999" : "-99999999999999999999");
        break;
      default:
        text.insert(at, std::string(1 + below(300), below(2) == 0 ? '[' : '{'));
        break;
    }
  }
  return text;
}

class Readers : public testing::TestWithParam<ReaderCase> {};

TEST_P(Readers, read_or_refuse_in_one_line) {
  const ReaderCase& reader = GetParam();
  constexpr int kCount = FLASHPROOF_MUTATIONS;
  const std::string sample = reader.sample();
  ASSERT_NO_THROW(reader.read(sample));
  Random random(1, std::hash<std::string_view>{}(reader.name));
  int refused = 0;
  for (int i = 0; i < kCount; ++i) {
    const std::string text = mutated(sample, random);
    try {
      reader.read(text);
    } catch (const UsageError& e) {
      ++refused;
      const std::string what = e.what();
      ASSERT_EQ(what, one_line(what)) << "mutation " << i;
      ASSERT_LT(what.size(), 2000U) << "mutation " << i;
    }
  }
  EXPECT_GT(refused, kCount / 4);
}

TEST_P(Readers, a_deep_document_is_refused) {
  const ReaderCase& reader = GetParam();
  for (const char* open : {"[", "{\"a\":", "a = [", "[["}) {
    std::string text = "{\"schema\": ";
    if (open[0] == 'a') text = open;
    for (int i = 0; i < 200'000; ++i) text += open[0] == 'a' ? "[" : open;
    EXPECT_THROW(reader.read(text), UsageError) << open;
  }
  // Closed, and short enough for every limit of size.
  constexpr std::size_t kDeep = 30'000;
  EXPECT_THROW(reader.read("{\"schema\": " + std::string(kDeep, '[') + std::string(kDeep, ']') + "}"), UsageError);
  EXPECT_THROW(reader.read("schema = " + std::string(kDeep, '[') + std::string(kDeep, ']')), UsageError);
  std::string key = "a";
  for (std::size_t i = 0; i < kDeep; ++i) key += i % 2 == 0 ? ".'!'" : " . a";
  for (const std::string& text : {key + " = 1", "[" + key + "]", "[[" + key + "]]", "a = {" + key + " = 1}"})
    EXPECT_THROW(reader.read(text), UsageError);
}

INSTANTIATE_TEST_SUITE_P(All, Readers, testing::ValuesIn(reader_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace flashproof
