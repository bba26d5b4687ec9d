// Stands in for a fuzzing engine where there is none: runs the target once on every file named on the command line, and
// on every file of a directory named there, in the order of their names.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/program.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" [[gnu::weak]] int LLVMFuzzerInitialize(int* argc, char*** argv);  // a target may have one

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostFile = 1 << 30;  // a witness, the largest input of any target

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) inside.push_back(entry.path());
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

int replay(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  const std::vector<fs::path> files = inputs(argc, argv);
  if (files.empty()) throw flashproof::UsageError("no input: name files or folders of files");
  for (const fs::path& file : files) {
    const std::string bytes = flashproof::read_file(file, kMostFile);
    const std::string shown = flashproof::one_line(file.string());
    std::fprintf(stderr, "%s (%zu bytes)\n", shown.c_str(), bytes.size());  // before the run: a crash names its input
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu inputs replayed\n", files.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return flashproof::run_program([&] { return replay(argc, argv); });
}
