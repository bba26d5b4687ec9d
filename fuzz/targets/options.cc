#include <string_view>

#include "fuzz/targets/session.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMostSeconds = 1'000'000, kMostTries = 1'000'000, kMostThreads = 1024, kMostBatch = 65'536;

std::uint64_t number(std::string_view option, std::string_view text, std::uint64_t most) {
  const auto value = parse_u64(text);
  if (!value || *value < 1 || *value > most) {
    throw UsageError(std::string(option) + " " + quote(text) + ": must be 1.." + std::to_string(most));
  }
  return *value;
}

Executor executor_of(std::string_view text) {
  if (text == "cpu") return Executor::cpu;
  if (text == "cuda") return Executor::cuda;
  throw UsageError("--exec " + quote(text) + ": must be cpu or cuda");
}

}  // namespace

SessionOptions take_options(int& argc, char** argv) {
  SessionOptions options;
  int kept = argc > 0 ? 1 : 0;
  for (int i = kept; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with("--")) {
      argv[kept++] = argv[i];
      continue;
    }
    const std::size_t equal = argument.find('=');
    const std::string_view option = argument.substr(0, equal);
    const std::string value(equal == std::string_view::npos ? "" : argument.substr(equal + 1));
    const auto is = [&](std::string_view name) {
      if (option != name) return false;
      if (value.empty()) throw UsageError(std::string(name) + ": takes a value, " + std::string(name) + "=...");
      return true;
    };
    const auto following = [&] {
      if (i + 1 >= argc || std::string_view(argv[i + 1]).starts_with("-"))
        throw UsageError(std::string(option) + ": a path must follow");
      return std::string(argv[++i]);
    };
    if (is("--kernel")) {
      options.kernel = value;
    } else if (is("--format")) {
      options.format = value;
    } else if (is("--exec")) {
      options.executor = executor_of(value);
    } else if (is("--guide")) {
      options.guide = parse_guide(value);
    } else if (is("--archive")) {
      options.archive = value;
    } else if (is("--run")) {
      options.run = value;
    } else if (argument == "--stop-on-finding") {
      options.stop_on_finding = true;
    } else if (argument == "--list") {
      options.list = true;
    } else if (is("--climb")) {
      options.climb = static_cast<double>(number(option, value, kMostSeconds));
    } else if (is("--hunt")) {
      options.hunt = static_cast<double>(number(option, value, kMostSeconds));
    } else if (is("--threads")) {
      options.threads = static_cast<int>(number(option, value, kMostThreads));
    } else if (is("--batch")) {
      options.batch = static_cast<int>(number(option, value, kMostBatch));
    } else if (is("--seed")) {
      options.seed = parse_u64(value);
      if (!options.seed) throw UsageError("--seed " + quote(value) + ": must be 0..18446744073709551615");
    } else if (is("--suspects")) {
      options.suspects = value;
    } else if (is("--climbing")) {
      options.climbing = value;
    } else if (is("--minimise")) {
      options.minimise = static_cast<int>(number(option, value, kMostTries));
    } else if (argument == "--describe") {
      options.describe = following();
    } else if (argument == "--seeds") {
      options.seeds = following();
      options.seeds_folder = following();
    } else {
      throw UsageError(
          "option " + quote(argument) +
          ": legal --kernel=, --format=, --exec=, --guide=, --archive=, --run=, --stop-on-finding, --list, "
          "--climb=, --climbing=, --hunt=, --threads=, --batch=, --suspects=, --seed=, --minimise=, --describe, "
          "--seeds; the "
          "engine's own have one dash");
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  const bool searches = options.climb || options.hunt;
  for (int i = 1; searches && i < argc && options.folder.empty(); ++i) {
    if (argv[i][0] != '-') options.folder = argv[i];
  }
  if (searches && options.folder.empty()) throw UsageError("--climb, --hunt: the corpus folder must be named");
  if (options.hunt && options.executor == Executor::cuda && options.suspects.empty()) {
    throw UsageError("--suspects: needed by --hunt with --exec=cuda");
  }
  if (options.kernel.empty() != options.format.empty()) throw UsageError("--kernel, --format: both or none");
  if ((searches || options.minimise || options.stop_on_finding) && options.archive.empty()) {
    throw UsageError("--archive: needed by --climb, --hunt, --minimise and --stop-on-finding");
  }
  return options;
}

}  // namespace flashproof
