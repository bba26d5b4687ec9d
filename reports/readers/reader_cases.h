// Every reader of a document from outside, with one that it reads. Which source file has which: readers_test.cc.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <string>

namespace flashproof {

struct ReaderCase {
  const char* name;
  std::function<std::string()> sample;
  std::function<void(const std::string&)> read;

  friend std::ostream& operator<<(std::ostream& out, const ReaderCase& r) { return out << r.name; }
};

std::span<const ReaderCase> reader_cases();

/// For readers of files alone: the name of one with this text, until the next call. In memory: on a disk every shortened file would be
/// waited for.
std::string file_of(const std::string& text);

}  // namespace flashproof
