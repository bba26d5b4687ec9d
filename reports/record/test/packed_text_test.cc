#include "reports/record/packed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMost = 1 << 20;

std::string refusal(const std::string& packed, std::uint64_t most = kMost) {
  try {
    unpacked_text(packed, most);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "taken";
}

TEST(PackedText, GivesBackEveryTextOfEveryLength) {
  Random source(1, 0);
  std::string text;
  for (int length = 0; length < 70; ++length) {
    EXPECT_EQ(unpacked_text(packed_text(text), kMost), text) << length;
    text.push_back(static_cast<char>(source.integer(0, 255)));
  }
  const std::string alike(1'000'000, 'x');
  EXPECT_LT(packed_text(alike).size(), 1000U);
  EXPECT_EQ(unpacked_text(packed_text(alike), kMost), alike);
}

TEST(PackedText, SaysWhatIsWrong) {
  const std::string good = packed_text("the same text, and the same text");
  EXPECT_EQ(refusal(good), "taken");
  EXPECT_EQ(refusal(good, 10), "its text has 32 bytes, legal are at most 10");
  EXPECT_EQ(refusal(""), "no frame of zstd that says how long its text is");
  EXPECT_THAT(refusal("AAAA"), testing::HasSubstr("no frame of zstd"));
  EXPECT_THAT(refusal(good + "A"), testing::HasSubstr("no multiple of 4"));
  for (const char* odd : {"\"", "\n", "\x80", "=", "-", " "}) {
    std::string changed = good;
    changed.replace(8, 1, odd);
    EXPECT_THAT(refusal(changed), testing::AnyOf(testing::HasSubstr("no base64"), testing::HasSubstr("zstd"))) << odd;
  }
  EXPECT_THAT(refusal(good.substr(0, good.size() - 4)), testing::HasSubstr("zstd"));
  // A bomb: the length that a frame states is refused before anything of that length is made.
  const std::string bomb = packed_text(std::string(1 << 24, 'x'));
  EXPECT_LT(bomb.size(), 4096U);
  EXPECT_EQ(refusal(bomb), "its text has 16777216 bytes, legal are at most 1048576");
}

TEST(PackedText, AChangedByteIsNoOtherText) {
  const std::string text = "records of a report, each on its line\nrecords of a report, each on its line\n";
  const std::string good = packed_text(text);
  Random source(2, 0);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = good;
    changed[static_cast<std::size_t>(source.integer(0, static_cast<std::int64_t>(good.size()) - 1))] =
        static_cast<char>(source.integer(0, 255));
    try {
      EXPECT_EQ(unpacked_text(changed, kMost), text) << changed;
    } catch (const UsageError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace flashproof
