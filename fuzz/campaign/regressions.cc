#include "fuzz/campaign/regressions.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/content.h"
#include "fuzz/campaign/folder.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead =
    "# Worst cases that searches found: kernel, format, term of the bound, error/bound then, recipe, changes "
    "(fuzz/input/elite_line.h).\n"
    "# elites_test replays them. How to refresh: fuzz/README.md.\n";

/// What the target's bytes are decoded as; none of a target whose inputs are no single case.
std::optional<ProblemKind> problem_of(const std::string& target) {
  if (target == "softmax") return ProblemKind::softmax;
  if (target == "merge") return ProblemKind::merge;
  if (target == "attention") return ProblemKind::attention;
  if (target == "backward") return ProblemKind::backward;
  return std::nullopt;
}

class Regressions {
 public:
  void read(const fs::path& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return;
    const auto bytes = read_regular(file, kMostText);
    if (!bytes) throw UsageError(fmt::format("--to {}: is no readable file", shown(file)));
    std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      if (!line.empty() && line.front() != '#') offer(parse_elite_line(line));
    }
  }

  void take(const fs::path& campaign) {
    for (CampaignLine& worst : worst_lines(campaign)) offer(std::move(worst.line));
  }

  std::string text() const {
    std::string text(kHead);
    for (const auto& [key, line] : worst_) text += to_string(line) + '\n';
    return text;
  }
  std::size_t size() const { return worst_.size(); }

 private:
  void offer(EliteLine line) {
    const auto [at, first] = worst_.try_emplace(line.key(), line);
    if (!first && line.ratio > at->second.ratio) at->second = std::move(line);
  }

  std::map<std::string, EliteLine> worst_;
};

}  // namespace

std::vector<CampaignLine> worst_lines(const fs::path& campaign) {
  const CampaignFolder folder{campaign};
  std::error_code error;
  if (!fs::is_regular_file(folder.archive(), error)) {
    throw UsageError(fmt::format("{}: no campaign is there (it has no archive.sqlite)", shown(campaign)));
  }
  const std::optional<Description> description = read_description(folder);
  if (description && description->tables != fmt::format("{:016x}", tables_fingerprint())) {
    throw UsageError(fmt::format("{}: its inputs are of other tables; only a new campaign has lines", shown(campaign)));
  }
  std::vector<CampaignLine> lines;
  for (const Elite& elite : Archive(folder.archive(), Archive::Open::read_only).elites()) {
    const auto& [target, kernel, format, executor, math] = elite.subject;
    const auto problem = problem_of(target);
    if (!problem || math != "det" || !kernel.ends_with(".hardened") || elite.ratio > 1) continue;
    const auto origin = elite_origin(*problem, format, elite.input);
    if (origin) lines.push_back({{kernel, format, elite.term, elite.ratio, *origin}, executor});
  }
  return lines;
}

void write_regressions(std::span<const fs::path> campaigns, const fs::path& to) {
  Regressions all;
  all.read(to);
  const std::size_t before = all.size();
  for (const fs::path& campaign : campaigns) all.take(campaign);
  write_atomically(to, all.text());
  fmt::print("{}: {} cases, {} of a new kernel, format or term\n", shown(to), all.size(), all.size() - before);
}

}  // namespace flashproof
