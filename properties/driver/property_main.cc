#include "properties/driver/property_main.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "properties/driver/now_running.h"
#include "properties/driver/property_files.h"
#include "properties/driver/property_options.h"
#include "properties/generators/glob.h"
#include "properties/laws/explanation.h"
#include "properties/laws/law.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/parse_arguments.h"
#include "reference/system/progress.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr int kFine = 0, kFinding = 1, kUsage = 2, kInfrastructure = 3, kUndecided = 4;
// What flashproof_add_kernel_test() makes ctest call a test skipped by.
constexpr const char* kAllSkipped = "skipped: the laws asked for say nothing about these kernels\n";

void print(const PropertyResult& result, const std::string& program) {
  std::string line = fmt::format("{} {} {} ",
                                 result.finding()        ? "FAIL"
                                 : result.skipped()      ? "skip"
                                 : result.unproven()     ? "UNDECIDED"
                                 : result.decided() == 0 ? "idle"
                                                         : "ok  ",
                                 result.kernel, result.law);
  for (std::size_t kind = 0; kind < kVerdictKinds; ++kind) {
    line += fmt::format(" {} {}", name(static_cast<VerdictKind>(kind)), result.counts[kind]);
  }
  if (result.finding() || result.skipped()) line += "\n  " + finding_line(result);
  if (result.unproven()) line += "\n  " + result.undecided;
  if (!result.suggestion.empty()) line += "\n  " + narrower_text(result.suggestion);
  if (result.failure) {
    if (!result.failure->witness.empty()) line += "\n  witness: " + result.failure->witness;
    line += "\n  replay: " + replay_line(program, result);
  }
  std::printf("%s\n", shown_lines(line).c_str());
}

volatile std::sig_atomic_t asked_to_stop = 0;
void stop(int) { asked_to_stop = 1; }

/// What there is when a run is stopped: the lines, but no files, which a reader would take for a whole run's.
int stopped(const std::vector<PropertyResult>& results, const std::string& program) {
  for (const PropertyResult& result : results) {
    if (result.executed() > 0) print(result, program);
  }
  std::printf("PARTIAL interrupted: what stands above is what ran by then; no --junit and no --json was written\n");
  if (std::fflush(stdout) != 0) throw InfrastructureError("stdout: cannot be written");
  return std::ranges::any_of(results, [](const PropertyResult& r) { return r.failure.has_value(); }) ? kFinding
                                                                                                     : kInfrastructure;
}

}  // namespace

int property_tests(PropertyOptions options, std::span<const KernelDeclaration> kernels) {
  const std::string program = options.program;
  remove_earlier_results(options.junit, options.json);
  constexpr unsigned kSecondsPerCase = 300;  // one law on one case: seconds at most, many times that under a sanitizer
  tell_crashes(program, kSecondsPerCase);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, stop);
  options.stop = [] { return asked_to_stop != 0; };
  Progress progress("families of kernels");
  options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const std::vector<PropertyResult> results = run_properties(kernels, options);
  if (options.stop()) return stopped(results, program);
  if (options.replay.empty()) {
    fmt::print("seed {}, {} cases per kernel and family{}\n", options.seed, options.cases,
               options.turns > 1 ? fmt::format(", laws that do not judge in turns of {}", options.turns) : "");
  }
  bool finding = kernels.empty(), decided = false, all_skipped = true, undecided = false;
  for (const PropertyResult& result : results) {
    print(result, program);
    finding = finding || result.finding();
    undecided = undecided || result.unproven();
    decided = decided || result.decided() > 0;
    all_skipped = all_skipped && result.skipped();
  }
  if (!decided && !all_skipped && !undecided) {
    std::printf("FAIL no law decided anything about any kernel: nothing was tested\n");
    finding = true;
  }
  if (!finding && all_skipped) std::printf("%s", kAllSkipped);
  if (kernels.empty()) std::printf("FAIL no kernel was declared: nothing was tested\n");
  if (!options.junit.empty()) write_atomically(options.junit, junit_text(results, program));
  if (!options.json.empty()) write_atomically(options.json, json_text(results, options, program));
  if (std::fflush(stdout) != 0) throw InfrastructureError("stdout: cannot be written");
  if (finding) return kFinding;
  return undecided ? kUndecided : kFine;
}

namespace {

int test(int argc, char** argv, std::span<const KernelDeclaration> kernels,
         Kernel (*kernel_of)(const KernelDeclaration&)) {
  CLI::App app("The laws of flashproof on these kernels.", argc > 0 ? argv[0] : "");
  PropertyOptions options;
  add_property_options(app, options);
  if (!parse_arguments(app, argc, argv)) return kFine;
  options.kernel_of = kernel_of;
  if (options.program.empty()) options.program = shell_word(argc > 0 ? argv[0] : "");
  return property_tests(std::move(options), kernels);
}

}  // namespace

int property_main(int argc, char** argv, std::span<const KernelDeclaration> kernels,
                  Kernel (*kernel_of)(const KernelDeclaration&)) {
  const auto complain = [](const char* what) {
    std::fprintf(stderr, "flashproof: %s\n", printable(what, 2000).c_str());
  };
  try {
    return test(argc, argv, kernels, kernel_of);
  } catch (const UsageError& e) {
    complain(e.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& e) {
    complain(e.what());
  }
  return kInfrastructure;
}

}  // namespace flashproof
