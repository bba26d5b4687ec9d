// Every reader of a document from outside on mutated documents: what is not refused in one line by UsageError is read, and nothing
// else happens. FLASHPROOF_MUTATIONS of them per reader: some thousand in all, and 100,000 each at night.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reference/bound/profile.h"
#include "reference/problem/error.h"
#include "reference/problem/random.h"
#include "reference/problem/text.h"
#include "reports/compare/document.h"
#include "reports/compare/policy.h"
#include "reports/compare/speed/speed.h"
#include "reports/compare/toml_reader.h"
#include "reports/ledger/against.h"
#include "reports/ledger/text.h"
#include "reports/record/json_at.h"
#include "reports/record/merge.h"
#include "reports/record/packed_text.h"
#include "reports/record/swept_report.h"
#include "reports/traffic/traffic.h"
#include "reports/views/html/html.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

struct ReaderCase {
  const char* name;
  std::function<std::string()> sample;
  std::function<void(const std::string&)> read;

  friend std::ostream& operator<<(std::ostream& out, const ReaderCase& r) { return out << r.name; }
};

/// For readers of files alone. In memory: on a disk every shortened file would be waited for.
std::string file_of(const std::string& text) {
  static const int file = ::memfd_create("flashproof-readers", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    ADD_FAILURE() << "no file in memory";
  }
  return "/proc/self/fd/" + std::to_string(file);
}

/// The first entries of a ledger: a whole one is a megabyte.
std::string small_ledger() {
  Ledger ledger = read_ledger(FLASHPROOF_LEDGER);
  ledger.entries.resize(2);
  return ledger_text(ledger);
}

/// What `report` makes of a few cases of a kernel of each kind, one that passes and one that fails.
const std::string& small_report() {
  static const std::string text = [] {
    const Filters some{{"softmax.safe.hardened", "merge.broken.misprinted_lse", "attention_backward.broken.delta*"},
                       {"normal"},
                       {"f32"}};
    return report_of(some, 0, 1);
  }();
  return text;
}

const std::string& packed_report() {
  static const std::string text = json_text(read_report_text(small_report(), "small"));
  return text;
}

/// The lines that "state" holds, and a report that holds others: what is mutated in them is seen by no checksum.
std::string state_of(const std::string& report) {
  return unpacked_text(parse_json(report, "file")["state"].get<std::string>(), 1 << 30);
}
void read_state(const std::string& state) {
  nlohmann::json report = parse_json(packed_report(), "file");
  report["state"] = packed_text(state);
  read_report_text(report.dump(), "file");
}

void merge_file(const std::string& text) {
  KernelNames names;
  merge_reports({file_of(text)}, {}, names);
}

const std::string kBench = R"({"context": {"date": "2026-01-01", "host_name": "h"}, "benchmarks": [
  {"name": "a/1", "run_name": "a/1", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1,
   "iterations": 10, "real_time": 1.5, "cpu_time": 1.25, "time_unit": "us"}]})";
const std::string kPolicy = "[[rule]]\nname = \"b\"\nkernel = [\"softmax.*\"]\nmax_ratio = 1\nno_missing = true\n";
const std::string kWaiver = "[[waiver]]\nid = \"b/x\"\nreason = \"words\"\nexpires = 2026-12-31\n";
const std::string kTraffic =
    "kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write\n"
    "softmax.safe.hardened,f32,4,8,128,128,256,128\n";

const ReaderCase kReaders[] = {
    {"ledger", small_ledger, [](const std::string& t) { parse_ledger(t, "file"); }},
    {"ledger_entry", [] { return entry_line(read_ledger(FLASHPROOF_LEDGER).entries.front()); },
     [](const std::string& t) { parse_entry_line(t); }},
    {"measured", small_report, [](const std::string& t) { measured_of(t, "file", "sm_90"); }},
    {"json", small_report, [](const std::string& t) { parse_json(t, "file"); }},
    {"report", small_report, [](const std::string& t) { compare::read_document(file_of(t)); }},
    {"merge", small_report, merge_file},
    {"packed", packed_report, [](const std::string& t) { compare::read_document(file_of(t)); }},
    {"state", [] { return state_of(packed_report()); }, read_state},
    {"html", small_report, [](const std::string& t) { html_text(read_report(file_of(t))); }},
    {"bench", [] { return kBench; }, [](const std::string& t) { compare::bench_of(parse_json(t, "file"), "file"); }},
    {"gate", [] { return kPolicy; }, [](const std::string& t) { compare::read_policy(file_of(t)); }},
    {"waivers", [] { return kWaiver; }, [](const std::string& t) { compare::read_waivers(file_of(t)); }},
    {"traffic", [] { return kTraffic; }, [](const std::string& t) { read_measured(file_of(t), Format::f32); }},
    {"profile", [] { return profile_json({}); }, [](const std::string& t) { load_profile(file_of(t)); }},
};

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
}

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
        compare::TomlFile(before + utf8(code) + behind, "the file");
        ++read;
      } catch (const UsageError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100'000);
}

INSTANTIATE_TEST_SUITE_P(All, Readers, testing::ValuesIn(kReaders),
                         [](const auto& info) { return std::string(info.param.name); });

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
      [](const std::string& f) { compare::read_bench(f); }};
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
