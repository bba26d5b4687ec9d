// bench: every Google Benchmark program of the build that the launcher has just made, one file of all results, and two files
// compared.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include <fmt/format.h>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/process.h"
#include "reference/system/read_file.h"
#include "reference/system/run_command.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/run/this_build.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 30;

void check(const BenchArguments& a) {
  for (const std::string& option : a.options) {
    for (const char* own : {"--benchmark_out", "--benchmark_list_tests", "--benchmark_format"}) {
      if (option.starts_with(own)) throw UsageError(quote(option) + ": bench writes --out FILE, and prints a table");
    }
    if (option.starts_with("--benchmark_")) continue;
    throw UsageError(
        "bench takes --exec cpu|cuda, --out FILE, --compare BASE.json [HEAD.json], then Google Benchmark's "
        "--benchmark_... options, not " +
        quote(option));
  }
  std::error_code error;
  for (const std::string& file : a.compare) {
    if (!fs::is_regular_file(file, error))
      throw UsageError("--compare " + quote(file) + ": must be a file that exists");
  }
  if (!a.out.empty()) {
    if (!fs::is_directory(fs::absolute(a.out).parent_path(), error)) {
      throw UsageError("--out " + quote(a.out) + ": its directory does not exist");
    }
    if (fs::is_directory(a.out, error)) throw UsageError("--out " + quote(a.out) + ": must be a file");
  }
  if (a.compare.size() == 2 && (!a.options.empty() || !a.out.empty())) {
    throw UsageError("--compare BASE.json HEAD.json runs nothing, so it takes no other option");
  }
}

int compare_files(const std::string& base, const std::string& head) {
  CompareArguments compare;
  compare.bench = {base, head};
  return compare_command(compare);
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::istringstream text(read_file(file, kMostText));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> words_of(const fs::path& program, std::vector<std::string> options) {
  options.insert(options.begin(), program.string());
  return options;
}

/// The programs in `folder` that have a benchmark which the options choose.
std::vector<std::string> choose(const BenchArguments& a, const ThisBuild& build, const fs::path& folder,
                                const std::vector<std::string>& names) {
  std::vector<std::string> chosen;
  const fs::path output = build.folder / "benchmark.out", errors = build.folder / "benchmark.err";
  for (const std::string& name : names) {
    if (!fs::exists(folder / name)) throw InfrastructureError(fmt::format("{} is not there", (folder / name).string()));
    CommandLine command{.words = words_of(folder / name, a.options), .output = output, .errors = errors};
    command.words.emplace_back("--benchmark_list_tests=true");
    if (run_command(command) != 0) {  // an option or an expression that Google Benchmark does not know
      const std::vector<std::string> said = lines_of(errors);
      throw UsageError("bench: " + (said.empty() ? name + " does not run" : said.front()));
    }
    // Where nothing fits it says so on stdout, too.
    const std::vector<std::string> listed = lines_of(output);
    if (!listed.empty() && !listed.front().starts_with("Failed to match")) chosen.push_back(name);
  }
  if (chosen.empty()) throw UsageError("bench: no benchmark has a name that --benchmark_filter fits");
  return chosen;
}

/// Results of several programs as one of the same form, which Google Benchmark's own tools and `compare --bench` read. The name of
/// each benchmark begins with that of its program, so that none meets another. `context` is the first one's (they ran on one
/// machine), with the programs and how they were built.
ordered_json merged(const fs::path& results, const std::vector<std::string>& names,
                    const std::vector<std::string>& flags) {
  ordered_json all = {{"context", ordered_json::object()}, {"benchmarks", ordered_json::array()}};
  ordered_json& context = all["context"];
  for (const std::string& name : names) {
    ordered_json result = ordered_json::parse(read_file(results / (name + ".json"), kMostText));
    if (context.empty()) {
      context = result.at("context");
      context["executable"] = "flashproof bench";
      context["programs"] = ordered_json::array();
    }
    context["programs"].push_back(name);
    for (ordered_json& benchmark : result.at("benchmarks")) {
      for (const char* key : {"name", "run_name"}) {
        if (benchmark.contains(key)) benchmark[key] = name + "/" + benchmark[key].get<std::string>();
      }
      all["benchmarks"].push_back(std::move(benchmark));
    }
  }
  if (all["benchmarks"].empty()) throw InfrastructureError("bench: nothing was measured");
  for (const std::string& line : flags) {  // KEY: VALUE
    if (const std::size_t colon = line.find(": "); colon != std::string::npos) {
      context[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  return all;
}

}  // namespace

int bench_command(const BenchArguments& a) {
  check(a);
  const bool cuda = a.executor == "cuda";
  if (a.check) {  // for the launcher: what to build
    if (a.compare.size() != 2) fmt::print("{}\n", cuda ? "gpu_benchmark" : "benchmarks");
    return kExitFine;
  }
  if (a.compare.size() == 2) return compare_files(a.compare[0], a.compare[1]);
  const ThisBuild build = this_build("bench");
  stop_on_signals();
  const fs::path folder = build.folder / (cuda ? "kernels/gpu_benchmark" : "benchmarks");
  const fs::path out = !a.out.empty() || a.compare.empty() ? fs::path(a.out) : build.folder / "bench.json";
  if (cuda && out.empty()) {
    const fs::path table = build.root / "kernels/gpu_benchmark/table.py";
    CommandLine command{.words = words_of(folder / "gpu_benchmark", a.options)};
    command.words.insert(command.words.begin(), {"python3", "-B", table.string()});
    return run_command(command);
  }
  if (!cuda && !fs::exists(folder / "names.txt")) {
    throw InfrastructureError(fmt::format("{} is not there; ./flashproof bench builds it", folder.string()));
  }
  const std::vector<std::string> names =
      choose(a, build, folder, cuda ? std::vector<std::string>{"gpu_benchmark"} : lines_of(folder / "names.txt"));
  const std::vector<std::string> flags = lines_of(build.folder / "benchmarks/flags.txt");
  fmt::print("{}\n", fmt::join(flags, "\n"));
  const fs::path results = build.folder / "benchmark-results";
  fs::create_directories(results);
  for (const std::string& name : names) {
    say(name);
    CommandLine command{.words = words_of(folder / name, a.options)};
    if (!out.empty()) {
      command.words.push_back("--benchmark_out=" + (results / (name + ".json")).string());
      command.words.emplace_back("--benchmark_out_format=json");
    }
    if (const int code = run_command(command); code != 0) {
      throw InfrastructureError(fmt::format("{} failed (exit {})", name, code));
    }
  }
  if (out.empty()) return kExitFine;
  write_atomically(out, merged(results, names, flags).dump(1) + "\n");
  say("wrote " + out.string());
  return a.compare.empty() ? kExitFine : compare_files(a.compare.front(), out);
}

}  // namespace flashproof
