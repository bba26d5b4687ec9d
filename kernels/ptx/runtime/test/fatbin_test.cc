// Containers that are right, that lack what is asked for, and that are damaged.
#include "kernels/ptx/runtime/fatbin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "kernels/ptx/runtime/test/container.h"
#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof::cudart {
namespace {

using testing::HasSubstr;

std::string refusal(const std::vector<std::byte>& bytes, std::uint32_t capability = 90) {
  return message_of([&] { ptx_of(bytes, capability); });
}

TEST(Fatbin, has_the_text_of_its_ptx) {
  const std::string text = "\n.version 9.0\n.target sm_90\n" + std::string(5000, ' ');
  EXPECT_EQ(ptx_of(Container().ptx(90, text).bytes(), 90), text);
  EXPECT_EQ(ptx_of(Container().cubin(90).ptx(90, text, Packing::zstd).bytes(), 90), text);
}

TEST(Fatbin, has_the_newest_ptx_that_the_device_runs) {
  const auto bytes = Container().ptx(75, "75").ptx(90, "90").ptx(80, "80").ptx(100, "100").cubin(80).bytes();
  EXPECT_EQ(ptx_of(bytes, 90), "90");
  EXPECT_EQ(ptx_of(bytes, 86), "80");
  EXPECT_EQ(ptx_of(bytes, 75), "75");
}

TEST(Fatbin, says_what_to_compile_with) {
  EXPECT_EQ(refusal(Container().cubin(90).bytes()),
            "the fat binary has machine code (SASS) and no PTX: compile with -gencode arch=compute_90,code=compute_90");
  EXPECT_THAT(refusal(Container().bytes(), 80), HasSubstr("has no PTX: compile with -gencode arch=compute_80,"));
  EXPECT_THAT(refusal(Container().ptx(100, "").ptx(120, "").bytes()), HasSubstr("compute_100, 120 only"));
  EXPECT_THAT(refusal(Container().ptx(80, "text", Packing::lz4).bytes()), HasSubstr("compile with -no-compress"));
}

TEST(Fatbin, is_refused_where_it_states_more_than_it_has) {
  const auto whole = Container().ptx(90, std::string(300, 'p'), Packing::zstd).bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_THROW(ptx_of(part, 90), UsageError) << bytes;
  }
  const auto with = [&](std::size_t at, auto number) {
    auto bytes = whole;
    Container::put(bytes, at, number);
    return refusal(bytes);
  };
  EXPECT_THAT(with(0, std::uint32_t{1}), HasSubstr("no fat binary"));
  EXPECT_THAT(with(8, ~std::uint64_t{0}), HasSubstr("states"));
  EXPECT_THAT(with(16 + 4, std::uint32_t{0}), HasSubstr("an entry of the fat binary has 0 + "));
  EXPECT_THAT(with(16 + 8, ~std::uint64_t{63}), HasSubstr("an entry of the fat binary"));
  EXPECT_THAT(with(16 + 16, ~std::uint32_t{0}), HasSubstr("an entry of the fat binary"));
  EXPECT_THAT(with(16 + 56, std::uint64_t{1} << 40), HasSubstr("legal: at most 67108864"));
  EXPECT_THAT(with(16 + 56, std::uint64_t{10}), HasSubstr("cannot be unpacked"));
}

TEST(Fatbin, of_any_bytes_is_text_or_a_refusal) {
  std::mt19937 random(7);
  const auto whole = Container().cubin(90).ptx(80, std::string(300, 'p'), Packing::zstd).ptx(90, "q").bytes();
  for (int i = 0; i < 20000; ++i) {
    auto bytes = whole;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    try {
      ptx_of(bytes, 90);
    } catch (const UsageError&) {  // NOLINT(bugprone-empty-catch): or text: what must not happen is anything else
    }
  }
}

}  // namespace
}  // namespace flashproof::cudart
