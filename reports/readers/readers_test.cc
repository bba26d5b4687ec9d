// What no reader of a document from outside does: open what is no regular file, or meet a character that its parser does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "reference/bound/declare/profile.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/source_tree.h"
#include "reference/system/text.h"
#include "reports/compare/policy.h"
#include "reports/compare/speed/speed.h"
#include "reports/compare/toml_reader.h"
#include "reports/compare/views/document.h"
#include "reports/ledger/text.h"
#include "reports/plugin/before.h"
#include "reports/plugin/declared_by.h"
#include "reports/record/json_at.h"
#include "reports/traffic/traffic.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

/// `code` as UTF-8, also one that is no character.
std::string utf8(std::uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  std::string text;
  int continued = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xff00U >> (continued + 1) & 0xffU) | code >> (6 * continued));
  while (continued-- > 0) text += static_cast<char>(0x80U | (code >> (6 * continued) & 0x3fU));
  return text;
}

/// The parser of TOML has functions without an answer for some of them (reports/compare/toml_reader.cc).
TEST(Toml, every_character_at_every_place_is_read_or_refused) {
  constexpr const char* kPlaces[][2] = {
      {"[", "]"},     {"", " = 1"}, {"a", " = 1"},   {"a = ", "1"},       {"a = 1", ""},
      {"a.", " = 1"}, {"[[", "]]"}, {"a = [1,", ""}, {"a = {b = 1", "}"}, {"a = \"\"\"\\", "\n\"\"\""}};
  constexpr std::uint32_t kStep = FLASHPROOF_MUTATIONS < 100'000 ? 7 : 1;
  int read = 0, refused = 0;
  for (std::uint32_t code = 0; code < 0x110000; code += code < 0x400 ? 1 : code < 0x10000 ? kStep : 0x101) {
    for (const auto& [before, behind] : kPlaces) {
      try {
        const compare::TomlFile file(before + utf8(code) + behind, "the file");
        ++read;
      } catch (const UsageError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100'000);
}

/// What must not be opened as a document, by every reader of files.
TEST(ReadFile, takes_regular_files_alone) {
  const fs::path folder = fs::temp_directory_path() / ("flashproof-special-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder / "device");
  std::ofstream(folder / "sparse") << "x";
  fs::resize_file(folder / "sparse", std::uintmax_t{8} << 40);
  const std::function<void(const std::string&)> readers[] = {
      [](const std::string& f) { read_ledger(f); },
      [](const std::string& f) { read_json(f); },
      [](const std::string& f) { compare::read_policy(f); },
      [](const std::string& f) { compare::read_waivers(f); },
      [](const std::string& f) { read_measured(f, Format::f32); },
      [](const std::string& f) { load_profile(f); },
      [](const std::string& f) { compare::read_document(f); },
      [](const std::string& f) { compare::read_bench(f); },
      [](const std::string& f) { const Before before(f); },
      [](const std::string& f) { const DeclaredBy declared(f); },
      [](const std::string& f) { read_witness(f); }};
  for (const char* name : {"pipe", "device", "sparse", "missing", "."}) {
    for (const auto& reader : readers) {
      try {
        reader((folder / name).string());
        ADD_FAILURE() << name << " was read";
      } catch (const UsageError& e) {
        EXPECT_THAT(e.what(), testing::AnyOf(testing::HasSubstr("must be a regular file"),
                                             testing::HasSubstr("8796093022208 bytes, must be at most ")));
      }
    }
  }
  fs::remove_all(folder);
}

/// Sources that open files from outside, and by which reader (reader_cases.cc, fuzz_reader_cases.cc) or test what they hold is tested on mutated
/// ones. A source that opens one and is not here has a reader that no test attacks.
constexpr std::pair<const char*, const char*> kDoors[] = {
    {"fuzz/campaign/campaign_findings.cc", "an input, of any bytes: fuzz/input/codec_test.cc"},
    {"fuzz/campaign/content.cc", "the door of the fuzzer itself"},
    {"fuzz/campaign/corpus.cc", "an input"},
    {"fuzz/campaign/worker/crashes.cc", "the last lines of its own log, of a limited size"},
    {"fuzz/campaign/export.cc", "its own files, compared; an index of names, each of which it checks"},
    {"fuzz/campaign/folder.cc", "campaign"},
    {"fuzz/campaign/numbers.cc", "its own file, compared"},
    {"fuzz/campaign/regressions.cc", "elite"},
    {"fuzz/campaign/seeds.cc", "lines, compared"},
    {"fuzz/replay_main.cc", "an input"},
    {"fuzz/targets/search.cc", "an input"},
    {"fuzz/targets/session.cc", "an input, and case"},
    {"kernels/plugin/list.cc", "the first four bytes of a regular file, compared"},
    {"kernels/plugin/own_time.cc", "/proc"},
    {"kernels/ptx/cuda/dependencies.cc", "its own files, and sources, hashed: kernels/ptx/test/cuda_test.cc"},
    {"kernels/ptx/cuda/source.cc", "nvcc reads it: kernels/ptx/test/cuda_test.cc"},
    {"kernels/ptx/run/object_cache.cc", "its own files, by their hash: kernels/ptx/test/cache_test.cc"},
    {"kernels/ptx/parse/parser.cc", "kernels/ptx/test/hostile_test.cc"},
    {"reference/bound/declare/profile_json.cc", "profile"},
    {"reference/system/atomic_file.cc", "the first bytes of a regular file that is to be replaced, compared"},
    {"reference/system/read_file.cc", "the door itself"},
    {"reference/problem/witness/witness.cc", "witness"},
    {"reports/baseline/records.cc", "elite"},
    {"reports/cli/commands/bench.cc", "lists of its own benchmarks, and bench"},
    {"reports/compare/changed_kernels.cc", "object files, compared"},
    {"reports/compare/toml_reader.cc", "gate, waivers, declare"},
    {"reports/ledger/text.cc", "ledger"},
    {"reports/plugin/before.cc", "before"},
    {"reports/plugin/declared_by.cc", "declare"},
    {"reports/record/json_at.cc", "json, and those of reports and benchmarks"},
    {"reports/run/environment.cc", "/proc, and git's names of commits"},
    {"reports/run/this_build.cc", "the build's own cache"},
    {"reports/traffic/traffic.cc", "traffic"},
};

TEST(Doors, of_files_from_outside_each_have_a_reader_that_is_attacked) {
  std::set<std::string> found, known;
  for (const auto& [file, reader] : kDoors) known.insert(file);
  const std::regex opens(R"((read_file|read_regular)\(|std::(basic_)?ifstream|std::fstream|fopen\()"),
      apart(R"(//[^\n]*)");
  const fs::path root = source_tree();
  for (const char* room : {"fuzz", "kernels", "properties", "reference", "reports"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const std::string name = entry.path().lexically_relative(root).string();
      if (!name.ends_with(".cc") && !name.ends_with(".cu")) continue;
      if (std::regex_search(name,
                            std::regex("/test/|_test\\.|_fixture\\.|_benchmark\\.|fake_target|/readers/|/examples/"))) {
        continue;
      }
      const std::string text = std::regex_replace(read_file(entry.path(), 1 << 24), apart, "");
      if (std::regex_search(text, opens)) found.insert(name);
    }
  }
  EXPECT_EQ(found, known);
}

TEST(OneLine, keeps_letters_and_nothing_that_steers) {
  EXPECT_EQ(one_line("a\x1b[2J\nb\x7f"), "a?[2J?b?");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "2J \xe2\x80\xae \xd8\x9c \xef\xbb\xbf"),
            "??2J ??? ?? ???");
  EXPECT_EQ(one_line("\xff\xc0\x80\xed\xa0\x80\xf0\x82\x82\xac"),
            "?????"
            "?????");
  EXPECT_EQ(one_line("\xc3\xa9 \xe2\x88\x92 \xe0\xb8\x81 \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe2\x88\x92 \xe0\xb8\x81 \xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace flashproof
