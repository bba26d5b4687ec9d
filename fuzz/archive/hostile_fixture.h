// A small archive to spoil, and what must become of it.
#pragma once

#include "fuzz/archive/archive_fixture.h"

namespace flashproof {

class Hostile : public ArchiveTest {
 protected:
  Hostile() : ArchiveTest(fast_folder()) {}

  /// A small archive with a row in every table.
  void make() const {
    Archive archive(file, Archive::Open::create);
    for (int i = 0; i < 12; ++i)
      archive.offer(elite("k" + std::to_string(i), 0.5 + i, std::vector<std::uint8_t>(700, 'i')));
    Finding found = finding("k", 1000, std::vector<std::uint8_t>(6000, 'f'));
    found.witness.assign(9000, 'w');
    found.brief = "softmax";
    archive.report(found, "run");
    archive.record(run("run", 10));
    archive.flush();
  }

  static void read_everything(const Archive& archive) {
    archive.elites();
    archive.findings();
    archive.runs();
  }

  /// UsageError in every way of opening it, with this text, and not a byte is changed.
  void expect_refused(const std::string& text) const {
    const std::string before = fs::is_regular_file(file) ? read(file) : "";
    for (const auto how : {Archive::Open::read_only, Archive::Open::existing, Archive::Open::create}) {
      EXPECT_THAT(refusal<UsageError>([&] { read_everything(Archive(file, how)); }), HasSubstr(text));
    }
    EXPECT_TRUE(!fs::is_regular_file(file) || read(file) == before) << text;
  }
};

}  // namespace flashproof
