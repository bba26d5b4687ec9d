// What explains a kernel now, beside what did.
#include "reports/plugin/before.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "kernels/plugin/load.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kExact = R"("reduction": "chunk_deferred")";
constexpr const char* kWide = R"("reduction": "chunk_deferred", "weights": {"format": "f16"})";

class BeforeTest : public testing::Test {
 protected:
  BeforeTest() : file_(std::filesystem::temp_directory_path() / ("before-" + std::to_string(::getpid()) + ".json")) {}
  ~BeforeTest() override { std::filesystem::remove(file_); }

  std::vector<std::string> changes(const std::string& before, const std::string& now) {
    static const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "semantics.so");
    const Kernel& kernel = *std::ranges::find(plugin.kernels(), "attention.reference.semantics", &Kernel::id);
    write(before);
    PluginReport report;
    report.outcomes.push_back({.kernel = &kernel, .suggestion = now});
    return Before(file_).changes(report);
  }
  void write(const std::string& suggestion) {
    std::string quoted;
    for (const char c : suggestion) quoted += c == '"' ? std::string("\\\"") : std::string(1, c);
    std::ofstream(file_)
        << R"({"outcomes": [{"kernel": "attention.reference.semantics", "format": "f32", "suggestion": ")" << quoted
        << "\"}]}";
  }
  std::string refusal(const std::string& text) {
    std::ofstream(file_) << text;
    try {
      const Before before(file_);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "accepted";
  }

  std::filesystem::path file_;
};

TEST_F(BeforeTest, a_wider_alternative_is_said) {
  EXPECT_THAT(changes(kExact, kWide), ElementsAre(HasSubstr("a wider bound")));
  EXPECT_THAT(changes(kWide, kExact), ElementsAre(HasSubstr("a narrower bound")));
  EXPECT_THAT(changes(kExact, kExact), IsEmpty());
  EXPECT_THAT(changes("", kWide), IsEmpty());
}

TEST_F(BeforeTest, what_cannot_be_read_is_told_and_compares_nothing) {
  EXPECT_THAT(changes(R"("reduction": "sideways")", kWide),
              ElementsAre(HasSubstr("before by \"reduction\": \"sideways\"")));
  EXPECT_THAT(refusal("[]"), HasSubstr("legal: a file that check ./MY.so --json wrote"));
  EXPECT_THAT(refusal(R"({"partial": true, "outcomes": []})"), HasSubstr("of a run that did not end"));
  EXPECT_THAT(refusal(R"({"outcomes": [3]})"), HasSubstr("outcomes: kernel: legal: a text"));
  EXPECT_THAT(refusal("{"), HasSubstr("no JSON"));
  const std::string folder = std::filesystem::temp_directory_path().string();
  try {
    const Before before{std::filesystem::path(folder)};
    FAIL() << "a folder is read";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), testing::StartsWith(folder + ": must be a regular file"));
  }
}

}  // namespace
}  // namespace flashproof
