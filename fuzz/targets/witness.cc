// Fuzz target: any bytes as a witness file. They are refused with UsageError, or they are a valid problem that can be
// written and read again without loss. Anything else – another exception, a sanitizer's report – ends the process.
//
// Of the targets' options (session.h) it has --list, --archive=FILE and --run=ID; the others change nothing.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "fuzz/archive/archive.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace flashproof;
using Clock = std::chrono::steady_clock;

std::unique_ptr<Archive> archive;
Run totals{.subject = {"witness", "reader", "any", "cpu", "det"}};
Clock::time_point started, flushed;
volatile std::sig_atomic_t asked_to_stop = 0;

void flush() {
  if (!archive) return;
  flushed = Clock::now();
  totals.seconds = std::chrono::duration<double>(flushed - started).count();
  try {
    archive->record(totals);
    archive->flush();
  } catch (const std::exception& error) {  // the machine's, not the reader's
    std::fprintf(stderr, "flashproof: %s\n", flashproof::one_line(error.what()).c_str());
    std::_Exit(3);
  }
}

void count() {
  ++totals.executions;
  if (archive && Clock::now() - flushed >= std::chrono::seconds(1)) flush();
  if (asked_to_stop != 0) {
    flush();
    std::_Exit(0);
  }
}

}  // namespace

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  int kept = 1;
  std::string_view file, run = "witness";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with("--")) (*argv)[kept++] = (*argv)[i];
    if (argument.starts_with("--archive=")) file = argument.substr(10);
    if (argument.starts_with("--run=")) run = argument.substr(6);
    if (argument == "--list") {
      std::puts("#tables 0\nreader\thardened\tany");
      std::exit(0);
    }
    if (argument.starts_with("--climb") || argument.starts_with("--minimise"))
      std::exit(0);  // there is no error to climb
  }
  *argc = kept;
  if (file.empty()) return 0;
  try {
    archive = std::make_unique<Archive>(file, Archive::Open::create);
    totals.id = run;
    started = flushed = Clock::now();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flashproof: %s\n", flashproof::one_line(error.what()).c_str());
    std::exit(3);
  }
  std::atexit(flush);
  const auto stop = [](int) { asked_to_stop = 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, stop);
  return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  count();
  Witness witness;
  try {
    witness = parse_witness({reinterpret_cast<const std::byte*>(data), size}, "input");
  } catch (const UsageError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();  // one line is the promise
    return 0;
  }
  if (parse_witness(format_witness(witness), "again") != witness) std::abort();
  return 0;
}
