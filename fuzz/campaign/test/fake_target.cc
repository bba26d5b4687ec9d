// A target without kernels, for the driver's tests: it honours the contract of fuzz/targets, and what it does is in the name
// of its "kernel". It writes to the real archive.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "fuzz/archive/archive.h"
#include "reference/system/error.h"

namespace {

namespace fs = std::filesystem;
using namespace flashproof;

volatile std::sig_atomic_t asked = 0;
std::map<std::string, std::string> options;  // "--kernel", "-seed", ...
std::string last_word;                       // corpus or file

bool is(const char* kernel) { return options["--kernel"] == kernel; }

Subject subject() { return {"fake", options["--kernel"], options["--format"], options["--exec"], "det"}; }

/// Work for `tenths` of a tenth of a second, or until asked to stop; flushed as it goes.
void work(int tenths) {
  Archive archive(options.at("--archive"), Archive::Open::create);
  Run run{options.at("--run"), subject(), 0, 0, 0, 0};
  for (int i = 0; i < tenths && asked == 0; ++i) {
    run.executions += 100, run.judged += 90, run.seconds += 0.01;
    archive.record(run);
    archive.offer({subject(), "dense", "o.weights", 0.25, "fake:case", {1, 2, 3}, "row 0 column 0", 1700000000});
    archive.flush();
    ::usleep(10'000);
  }
}

void report_finding() {
  Archive archive(options.at("--archive"), Archive::Open::create);
  Finding finding;
  finding.subject = subject();
  finding.what = "exceeds_bound", finding.shape_class = "dense", finding.term = "o.weights";
  finding.ratio = 1.5, finding.case_line = "fake:worse", finding.detail = "off by more than its bound";
  finding.input = {9, 9, 9}, finding.hits = 1, finding.first = finding.last = 1700000000;
  archive.report(finding, options.at("--run"));
  archive.flush();
}

void minimise() {
  Archive archive(options.at("--archive"), Archive::Open::create);
  for (Finding& finding : archive.findings()) {
    if (finding.subject != subject() || !finding.witness.empty()) continue;
    finding.witness = {'w'}, finding.brief = "one number";
    archive.put_witness(finding);
  }
}

[[noreturn]] void leave(int code, const char* said, const char* artifact = nullptr) {
  std::fprintf(stderr, "INFO: noise before\n%s\nINFO: noise after\n", said);
  if (artifact != nullptr) std::ofstream(options.at("-artifact_prefix") + artifact) << "deadly";
  std::fflush(nullptr);
  ::_exit(code);
}

/// True the first time it is called for this corpus.
bool first_time() {
  const fs::path mark = fs::path(last_word) / "first_time";
  if (fs::exists(mark)) return false;
  std::ofstream(mark) << "x";
  return true;
}

void fuzz() {
  constexpr int kForEver = 100'000;
  if (is("fake.finds") || is("fake.expected")) report_finding();
  if (is("fake.finds") && options.contains("--stop-on-finding")) work(1), ::_exit(1);
  if (is("fake.signal")) work(1), ::signal(SIGSEGV, SIG_DFL), ::raise(SIGSEGV);
  if (is("fake.asan")) {
    leave(77,
          "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000051\n"
          "SUMMARY: AddressSanitizer: heap-buffer-overflow /home/x/kernels/softmax.cu:12:3 in row_max",
          "crash-0123");
  }
  if (is("fake.hang")) leave(70, "==7== ERROR: libFuzzer: timeout after 30 seconds", "timeout-0123");
  if (is("fake.memory")) leave(71, "==7== ERROR: libFuzzer: out-of-memory (used: 6200Mb; limit: 6144Mb)", "oom-0123");
  if (is("fake.lost") && first_time()) leave(75, "the GPU's context is lost");
  if (is("fake.killed") && first_time()) ::raise(SIGKILL);
  if (is("fake.full")) leave(3, "flashproof: archive.sqlite: no space left on the device");
  if (is("fake.refuses")) leave(2, "flashproof: --guide \"counters\": this target has none");
  if (is("fake.absent")) leave(127, "No such file or directory");
  if (is("fake.odd")) leave(9, "cannot open shared object");
  if (is("fake.idle")) return;
  if (is("fake.stubborn")) ::signal(SIGTERM, SIG_IGN);
  work(kForEver);
}

void climb() {
  const std::string climbing = options.at("--climbing");
  std::ofstream(climbing) << "deadly climb";
  if (is("fake.climb_crash")) ::signal(SIGSEGV, SIG_DFL), ::raise(SIGSEGV);
  if (is("fake.climb_lost")) ::raise(SIGKILL);
  if (is("fake.climb_hang")) {
    ::signal(SIGTERM, SIG_IGN);
    for (;;) ::pause();
  }
  fs::remove(climbing);
  std::ofstream(fs::path(last_word) / "climbed") << "climbed";
  if (!is("fake.idle")) work(1);
}

int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equal = word.find('=');
    if (word[0] == '-') options[word.substr(0, equal)] = equal == std::string::npos ? "" : word.substr(equal + 1);
    last_word = word;
  }
  if (options.contains("--list")) {
    const char* tables = ::getenv("FAKE_TABLES");
    std::printf("#tables %s\n", tables == nullptr ? "0123abcd" : tables);
    if (::getenv("FAKE_LIST") != nullptr) return std::printf("%s", ::getenv("FAKE_LIST")), 0;
    for (const char* name : {"steady", "finds", "signal", "asan", "hang", "memory", "lost", "killed", "full", "refuses",
                             "odd", "idle", "stubborn", "absent", "climb_crash", "climb_hang", "climb_lost"}) {
      std::printf("fake.%s\thardened\tf32\n", name);
    }
    std::puts("fake.expected\tpublished\tf32\nfake.steady\thardened\tf16");
  } else if (options.contains("--describe")) {
    std::puts("fake:described");
  } else if (options.contains("--seeds")) {
    std::ofstream(fs::path(last_word) / "from_lines") << "seed";
  } else if (options.contains("--minimise")) {
    minimise();
  } else if (options.contains("--climb")) {
    climb();
  } else {
    fuzz();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGTERM, [](int) { asked = 1; });
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "flashproof: %s\n", e.what());
    return 3;
  }
}
