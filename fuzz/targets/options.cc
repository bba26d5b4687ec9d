#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets/session.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

constexpr std::uint64_t kMostSeconds = 1'000'000, kMostTries = 1'000'000, kMostThreads = 1024, kMostBatch = 65'536;

/// flag: --name. value: --name=VALUE. path, two_paths: --name PATH ..., which may not begin with a dash.
enum class Takes : std::uint8_t { flag, value, path, two_paths };

struct TargetOption {
  std::string_view name;
  Takes takes;
  void (*set)(SessionOptions& options, std::span<const std::string> values);
};

template <class T>
T number(std::string_view option, std::string_view text, std::uint64_t most) {
  const auto value = parse_u64(text);
  if (!value || *value < 1 || *value > most) {
    throw UsageError(fmt::format("{} {}: must be 1..{}", option, quote(text), most));
  }
  return static_cast<T>(*value);
}

Executor executor_of(std::string_view text) {
  if (text == "cpu") return Executor::cpu;
  if (text == "cuda") return Executor::cuda;
  throw UsageError("--exec " + quote(text) + ": must be cpu or cuda");
}

std::uint64_t seed_of(std::string_view text) {
  const auto seed = parse_u64(text);
  if (!seed) throw UsageError("--seed " + quote(text) + ": must be 0..18446744073709551615");
  return *seed;
}

using O = SessionOptions;
using V = std::span<const std::string>;
/// What each does: session.h.
constexpr TargetOption kOptions[] = {
    {"--kernel", Takes::value, [](O& o, V v) { o.kernel = v[0]; }},
    {"--format", Takes::value, [](O& o, V v) { o.format = v[0]; }},
    {"--exec", Takes::value, [](O& o, V v) { o.executor = executor_of(v[0]); }},
    {"--guide", Takes::value, [](O& o, V v) { o.guide = parse_guide(v[0]); }},
    {"--archive", Takes::value, [](O& o, V v) { o.archive = v[0]; }},
    {"--run", Takes::value, [](O& o, V v) { o.run = v[0]; }},
    {"--stop-on-finding", Takes::flag, [](O& o, V) { o.stop_on_finding = true; }},
    {"--list", Takes::flag, [](O& o, V) { o.list = true; }},
    {"--climb", Takes::value, [](O& o, V v) { o.climb = number<double>("--climb", v[0], kMostSeconds); }},
    {"--climbing", Takes::value, [](O& o, V v) { o.climbing = v[0]; }},
    {"--hunt", Takes::value, [](O& o, V v) { o.hunt = number<double>("--hunt", v[0], kMostSeconds); }},
    {"--threads", Takes::value, [](O& o, V v) { o.threads = number<int>("--threads", v[0], kMostThreads); }},
    {"--batch", Takes::value, [](O& o, V v) { o.batch = number<int>("--batch", v[0], kMostBatch); }},
    {"--suspects", Takes::value, [](O& o, V v) { o.suspects = v[0]; }},
    {"--seed", Takes::value, [](O& o, V v) { o.seed = seed_of(v[0]); }},
    {"--minimise", Takes::value, [](O& o, V v) { o.minimise = number<int>("--minimise", v[0], kMostTries); }},
    {"--describe", Takes::path, [](O& o, V v) { o.describe = v[0]; }},
    {"--seeds", Takes::two_paths, [](O& o, V v) { o.seeds = v[0], o.seeds_folder = v[1]; }},
};

std::string legal_options() {
  std::string text;
  for (const TargetOption& option : kOptions) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", option.name, option.takes == Takes::value ? "=" : "");
  }
  return text;
}

const TargetOption& option_named(std::string_view argument, std::string_view name, bool has_value) {
  const auto found = std::ranges::find(kOptions, name, &TargetOption::name);
  if (found == std::end(kOptions) || (has_value && found->takes != Takes::value)) {
    throw UsageError(
        fmt::format("option {}: legal {}; the engine's own have one dash", quote(argument), legal_options()));
  }
  return *found;
}

void require_together(const SessionOptions& options) {
  const bool searches = options.climb || options.hunt;
  if (searches && options.folder.empty()) throw UsageError("--climb, --hunt: the corpus folder must be named");
  if (options.hunt && options.executor == Executor::cuda && options.suspects.empty()) {
    throw UsageError("--suspects: needed by --hunt with --exec=cuda");
  }
  if (options.kernel.empty() != options.format.empty()) throw UsageError("--kernel, --format: both or none");
  if ((searches || options.minimise || options.stop_on_finding) && options.archive.empty()) {
    throw UsageError("--archive: needed by --climb, --hunt, --minimise and --stop-on-finding");
  }
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
    const TargetOption& option = option_named(argument, argument.substr(0, equal), equal != std::string_view::npos);
    std::vector<std::string> values;
    if (option.takes == Takes::value) {
      values.emplace_back(equal == std::string_view::npos ? "" : argument.substr(equal + 1));
      if (values[0].empty()) throw UsageError(fmt::format("{}: takes a value, {}=...", option.name, option.name));
    }
    const std::size_t paths = option.takes == Takes::path ? 1 : option.takes == Takes::two_paths ? 2 : 0;
    for (std::size_t n = 0; n < paths; ++n) {
      if (i + 1 >= argc || argv[i + 1][0] == '-') throw UsageError(fmt::format("{}: a path must follow", option.name));
      values.emplace_back(argv[++i]);
    }
    option.set(options, values);
  }
  argc = kept;
  argv[argc] = nullptr;
  for (int i = 1; (options.climb || options.hunt) && i < argc && options.folder.empty(); ++i) {
    if (argv[i][0] != '-') options.folder = argv[i];
  }
  require_together(options);
  return options;
}

}  // namespace flashproof
