// Compiled objects on disk: used when whole, ignored and rewritten when not.
#include "kernels/ptx/run/object_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/ptx/parse/parser.h"
#include "kernels/ptx/run/program.h"
#include "kernels/ptx/test/form_runner.h"

namespace flashproof::ptx {
namespace {

namespace fs = std::filesystem;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder.parent_path());
  }
  void TearDown() override { fs::remove_all(folder); }
  std::vector<fs::path> files() const {
    if (!fs::exists(folder)) return {};
    return {fs::directory_iterator(folder), fs::directory_iterator()};
  }
  bool from_cache(const std::string& text) const {
    Program program(parse("f.ptx", module_of(text)), "k", {.use_cache = true, .cache_folder = folder.string()});
    std::uint64_t o = 0;
    void* address = &o;
    std::byte parameters[36] = {};
    std::memcpy(parameters + 24, static_cast<const void*>(&address), 8);
    const Array array{&o, 8, true, "o"};
    EXPECT_TRUE(program.launch({{}, {}, 0, parameters, {&array, 1}}).completed);
    EXPECT_EQ(o, 42U);
    return program.from_cache();
  }
  const fs::path folder = fs::path(testing::TempDir()) / ("ptx_cache_test." + std::to_string(getpid())) / "objects";
  const std::string body = "st.global.u64 [%O], 42;";
};

TEST_F(Cache, a_second_program_of_the_same_text_is_not_compiled) {
  EXPECT_FALSE(from_cache(body));
  EXPECT_EQ(files().size(), 1U);
  EXPECT_TRUE(from_cache(body));
  EXPECT_FALSE(from_cache("add.u32 %w1, %w1, 1;\nst.global.u64 [%O], 42;"));
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(Cache, a_damaged_file_is_ignored_and_written_again) {
  EXPECT_FALSE(from_cache(body));
  const fs::path file = files().at(0);
  std::string whole;
  {
    std::ifstream in(file, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::vector<std::string> damaged = {"", whole.substr(0, 40), whole.substr(0, whole.size() - 1), whole + "x"};
  for (const std::size_t at : {std::size_t{3}, std::size_t{30}, std::size_t{44}, std::size_t{60}, whole.size() / 2}) {
    damaged.push_back(whole);
    damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ 1);
  }
  for (const std::string& text : damaged) {
    std::ofstream(file, std::ios::binary) << text;
    EXPECT_FALSE(from_cache(body));
    EXPECT_TRUE(from_cache(body)) << "it was not written again";
  }
}

TEST_F(Cache, what_no_cache_has_written_is_neither_waited_for_nor_read_without_end) {
  EXPECT_FALSE(from_cache(body));
  const fs::path file = files().at(0);
  fs::resize_file(file, std::uintmax_t{1} << 42);
  EXPECT_FALSE(from_cache(body));
  EXPECT_TRUE(from_cache(body)) << "it was not written again";
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(from_cache(body));
  EXPECT_TRUE(fs::is_fifo(file)) << "what is no file was replaced";
}

TEST_F(Cache, no_name_beside_a_file_is_in_the_way_of_it_or_left) {
  EXPECT_FALSE(from_cache(body));
  const fs::path file = files().at(0), beside = file.string() + "." + std::to_string(::getpid());
  fs::remove(file);
  fs::create_directories(beside);
  EXPECT_FALSE(from_cache(body));
  EXPECT_TRUE(from_cache(body)) << "it was not written";
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(Cache, a_folder_that_others_may_write_to_is_not_used) {
  EXPECT_FALSE(from_cache(body));
  fs::permissions(folder, fs::perms::all);
  EXPECT_FALSE(from_cache(body));
}

TEST_F(Cache, a_folder_that_cannot_be_made_is_no_error) {
  std::ofstream(folder.string()) << "a file in its place";
  EXPECT_FALSE(from_cache(body));
  EXPECT_FALSE(from_cache(body));
}

TEST(Hash, differs_in_every_bit_and_length) {
  const std::string text(100, 'a');
  const Hash hash = hash_of(text);
  EXPECT_EQ(hash, hash_of(text));
  EXPECT_FALSE(hash == hash_of(text + std::string(1, 0)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] ^= 1;
    const Hash other = hash_of(changed);
    EXPECT_NE(other.high, hash.high);
    EXPECT_NE(other.low, hash.low);
  }
}

}  // namespace
}  // namespace flashproof::ptx
