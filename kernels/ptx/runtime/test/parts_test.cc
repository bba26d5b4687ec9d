// The runtime's parts: settings, memory, names of errors, streams and events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

#include "kernels/ptx/runtime/memory.h"
#include "kernels/ptx/runtime/settings.h"
#include "kernels/ptx/runtime/status.h"
#include "kernels/ptx/runtime/streams.h"
#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof::cudart {
namespace {

using testing::HasSubstr;

Settings settings_with(const std::map<std::string, std::string>& variables) {
  return settings_of([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(CudartSettings, are_read_from_the_environment) {
  const Settings settings = settings_with({{"FLASHPROOF_CUDART_RACES", "off"},
                                           {"FLASHPROOF_CUDART_ORDER", "both"},
                                           {"FLASHPROOF_CUDART_FINDING", "exit"},
                                           {"FLASHPROOF_CUDART_CAPABILITY", "8.0"},
                                           {"FLASHPROOF_CUDART_MEMORY", "64"},
                                           {"FLASHPROOF_CUDART_INSTRUCTIONS", "1000"}});
  EXPECT_FALSE(settings.races);
  EXPECT_EQ(settings.order, Order::both);
  EXPECT_TRUE(settings.exits);
  EXPECT_EQ(settings.capability, 80U);
  EXPECT_EQ(settings.memory_mib, 64U);
  EXPECT_EQ(settings.max_instructions, 1000);
}

TEST(CudartSettings, that_are_wrong_are_named) {
  for (const auto& [name, value, legal] : {std::tuple{"RACES", "yes", "on, off"},
                                           {"ORDER", "random", "first, last, both"},
                                           {"FINDING", "", "error, exit"},
                                           {"CAPABILITY", "10.0", "7.5, 8.0, 8.6, 8.7, 8.9, 9.0"},
                                           {"MEMORY", "0", "MiB, 1 to 1048576"},
                                           {"MEMORY", "1048577", "MiB, 1 to 1048576"},
                                           {"MEMORY", "12G", "MiB, 1 to 1048576"},
                                           {"INSTRUCTIONS", "-1", "instructions of a launch, 1 to 10^18"}}) {
    const std::string variable = std::string("FLASHPROOF_CUDART_") + name;
    try {
      settings_with({{variable, value}});
      ADD_FAILURE() << variable << "=" << value;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()), variable + "='" + value + "', legal: " + legal);
    }
  }
}

TEST(CudartMemory, lies_apart_and_is_never_given_twice) {
  Memory memory(1 << 20);
  auto* first = static_cast<std::byte*>(memory.allocate(100, Place::device));
  auto* second = static_cast<std::byte*>(memory.allocate(100, Place::device));
  EXPECT_GE(second - first, 65536);
  EXPECT_EQ(memory.free(), (1U << 20) - 200);
  memory.release(first, false);
  EXPECT_EQ(memory.free(), (1U << 20) - 100);
  EXPECT_NE(memory.allocate(100, Place::device), first);
  EXPECT_EQ(memory.words(reinterpret_cast<std::uint64_t>(first) + 7),
            "in allocation 1 of cudaMalloc, 100 bytes, which was freed");
}

TEST(CudartMemory, holds_what_lies_in_one_allocation) {
  Memory memory(1 << 20);
  auto* data = static_cast<std::byte*>(memory.allocate(100, Place::device));
  EXPECT_NE(memory.holding(data, 100), nullptr);
  EXPECT_NE(memory.holding(data + 99, 1), nullptr);
  EXPECT_EQ(memory.holding(data, 101), nullptr);
  EXPECT_EQ(memory.holding(data + 99, 2), nullptr);
  EXPECT_EQ(memory.holding(data - 1, 1), nullptr);
  EXPECT_EQ(memory.holding(data + 1, ~std::uint64_t{0}), nullptr);
  ASSERT_EQ(memory.arrays().size(), 1U);
  EXPECT_EQ(memory.arrays()[0].name, "allocation 1 of cudaMalloc, 100 bytes");
}

TEST(CudartMemory, knows_what_an_address_is) {
  Memory memory(1 << 20);
  const auto inside = reinterpret_cast<std::uint64_t>(memory.allocate(5000, Place::managed));
  const auto ours = std::make_unique<int>(1);
  EXPECT_THAT(memory.words(reinterpret_cast<std::uint64_t>(ours.get())), HasSubstr("memory of the host"));
  EXPECT_THAT(memory.words(16), HasSubstr("null pointer"));
  EXPECT_EQ(memory.words(inside), "");
  EXPECT_EQ(memory.words(inside - 4), "");  // the executor says what it has missed
  EXPECT_EQ(memory.words(inside + 5000), "");
  EXPECT_EQ(memory.words(inside + 30000), "");
}

TEST(CudartMemory, of_the_device_is_closed_to_the_host) {
  Memory memory(1 << 20);
  auto* data = static_cast<std::uint32_t*>(memory.allocate(100, Place::device));
  auto* shared = static_cast<std::uint32_t*>(memory.allocate(100, Place::managed));
  EXPECT_EXIT(*data = 1, testing::KilledBySignal(SIGSEGV), "");
  *shared = 1;
  {
    const Opened opened(memory);
    EXPECT_EQ(*data, 0xffffffffU);
    *data = 1;
  }
  EXPECT_EXIT(*data = 1, testing::KilledBySignal(SIGSEGV), "");
}

TEST(CudartMemory, is_given_back_by_its_first_byte_once) {
  Memory memory(1 << 20);
  auto* data = static_cast<std::byte*>(memory.allocate(100, Place::device));
  void* host = memory.allocate(100, Place::host);
  EXPECT_THAT(message_of<Refused>([&] { memory.release(data + 8, false); }), HasSubstr("is no start of"));
  EXPECT_THAT(message_of<Refused>([&] { memory.release(host, false); }), HasSubstr("is no start of"));
  EXPECT_THAT(message_of<Refused>([&] { memory.release(data, true); }), HasSubstr("allocation 1 of cudaMalloc"));
  memory.release(data, false);
  EXPECT_THAT(message_of<Refused>([&] { memory.release(data, false); }), HasSubstr("which was freed"));
  memory.release(host, true);
  memory.release(nullptr, false);
}

TEST(CudartMemory, ends_where_the_settings_say) {
  Memory memory(1000);
  EXPECT_NE(memory.allocate(1000, Place::device), nullptr);
  EXPECT_THAT(message_of<Refused>([&] { memory.allocate(1, Place::device); }), HasSubstr("0 bytes are free"));
  EXPECT_THAT(message_of<Refused>([&] { memory.allocate(~std::uint64_t{0}, Place::device); }),
              HasSubstr("bytes are free"));
  EXPECT_EQ(memory.allocate(0, Place::device), nullptr);
}

TEST(CudartStreams, are_known_by_their_handles) {
  Streams streams;
  void* stream = streams.create(1, -3);
  EXPECT_EQ(streams.stream(stream).priority, -3);
  streams.stream(nullptr);
  streams.destroy(stream);
  EXPECT_THAT(message_of<Refused>([&] { streams.stream(stream); }), HasSubstr("is no stream"));
  void *start = streams.create_event(true), *end = streams.create_event(true), *timeless = streams.create_event(false);
  EXPECT_THAT(message_of<Refused>([&] { streams.elapsed(start, end); }), HasSubstr("was not recorded"));
  EXPECT_THAT(message_of<Refused>([&] { streams.elapsed(start, timeless); }), HasSubstr("has no time"));
  const auto now = std::chrono::steady_clock::now();
  streams.event(start).recorded = now;
  streams.event(end).recorded = now + std::chrono::milliseconds(3);
  EXPECT_FLOAT_EQ(streams.elapsed(start, end), 3.0F);
}

TEST(CudartStatus, has_the_names_of_cuda) {
  EXPECT_STREQ(name_of(illegal_address), "cudaErrorIllegalAddress");
  EXPECT_STREQ(words_of(illegal_address), "an illegal memory access was encountered");
  EXPECT_STREQ(name_of(success), "cudaSuccess");
  EXPECT_STREQ(words_of(12345), "unrecognized error code");
}

}  // namespace
}  // namespace flashproof::cudart
