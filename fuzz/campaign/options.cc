#include "fuzz/campaign/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "fuzz/campaign/regressions.h"
#include "fuzz/campaign/union.h"
#include "reference/system/add_option.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

const char* const kCampaigns = "out/fuzz";  // campaigns without --out

/// --status's argument: nothing, a campaign's folder, or the name of a target.
int status_of(const std::string& named, const std::string& target) {
  std::error_code error;
  if (!named.empty() || !target.empty()) {
    fs::path folder = named;
    if (named.empty() || (!fs::exists(folder, error) && is_name(named)))
      folder = fs::path(kCampaigns) / (named.empty() ? target : named);
    show_campaign(folder);
    return 0;
  }
  std::vector<fs::path> found;
  for (fs::directory_iterator i(kCampaigns, error), end; !error && i != end; i.increment(error)) {
    if (fs::exists(i->path() / "fuzz.json", error)) found.push_back(i->path());
  }
  if (found.empty()) throw UsageError(fmt::format("--status: no campaign in {}; name its folder", kCampaigns));
  std::sort(found.begin(), found.end());
  for (const fs::path& folder : found) {
    if (folder != found.front()) fmt::print("\n");
    show_campaign(folder);
  }
  return 0;
}

int fuzz(FuzzArguments& a, bool status) {
  CampaignOptions& o = a.campaign;
  if (status) return status_of(a.status.empty() ? "" : a.status.front(), o.target);
  if (o.target.empty()) throw UsageError("fuzz needs a TARGET (see --help)");
  if (!a.shard.empty()) o.shard = parse_shard(a.shard);
  o.out = a.out;
  stop_on_signals();
  return run_campaign(o, this_machine());
}

void add_fuzz(CLI::App& app, FuzzArguments& a, std::function<int()>& command) {
  CampaignOptions& o = a.campaign;
  auto* fuzz_app =
      app.add_subcommand("fuzz", "fuzz the kernels of one target; the same --out goes on from where it was");
  const auto add = [fuzz_app](const char* name, auto& to) { add_declared(fuzz_app, "fuzz", name, to); };
  add("TARGET", o.target);
  add("--seconds", o.seconds);
  add("--jobs", o.jobs);
  add("--seed", o.seed);
  add("--kernel", o.kernels);
  add("--format", o.formats);
  add("--exec", o.executor);
  add("--guide", o.guide);
  add("--sanitize", a.sanitize);
  add("--shard", a.shard);
  fuzz_app->add_flag("!--no-climb", o.climb, std::string(declared_option("fuzz", "--no-climb").help));
  add("--stop-on-finding", o.stop_on_finding);
  add("--out", a.out);
  add("--targets", o.targets);
  o.seeds = FLASHPROOF_FUZZ_CORPUS;
  add("--seeds", o.seeds);
  const OptionDeclaration& declared = declared_option("fuzz", "--status");
  auto* status = fuzz_app->add_option("--status", a.status, std::string(declared.help))
                     ->expected(0, 1)
                     ->type_name(std::string(declared.type));
  fuzz_app->callback(
      [&a, &command, status] { command = [&a, asked = status->count() > 0] { return fuzz(a, asked); }; });
}

}  // namespace

void add_fuzz_commands(CLI::App& app, FuzzArguments& a, std::function<int()>& command) {
  add_fuzz(app, a, command);

  auto* status = app.add_subcommand("status", "how a campaign stands, running or ended");
  status->add_option("DIR", a.out, "its folder")->required()->type_name("");
  status->callback([&] { command = [&] { return show_campaign(a.out), 0; }; });

  auto* merge = app.add_subcommand("merge", "make OUT the union of campaigns of one target");
  merge->add_option("OUT", a.out, "folder, new or a campaign's")->required()->type_name("");
  merge->add_option("IN", a.in, "folders of campaigns")->required()->type_name("");
  merge->callback([&] { command = [&] { return merge_campaigns(a.out, {a.in.begin(), a.in.end()}), 0; }; });

  auto* exported = app.add_subcommand("export", "write a campaign's worst cases and findings as inputs, with an index");
  exported->add_option("OUT", a.out, "folder of a campaign")->required()->type_name("");
  exported->add_option("--to", a.to, "folder to write")->required()->type_name("DIR");
  exported->callback([&] { command = [&] { return export_campaign(a.out, a.to), 0; }; });

  auto* regressions = app.add_subcommand(
      "regressions", "write the worst case of every kernel, format and term as lines that a test replays");
  regressions->add_option("OUT", a.in, "folders of campaigns")->required()->type_name("");
  a.regressions = FLASHPROOF_REGRESSIONS;
  regressions->add_option("--to", a.regressions, "the file; default properties/regressions/elites.txt of the source")
      ->type_name("FILE");
  regressions->callback([&] {
    command = [&] {
      const std::vector<fs::path> campaigns(a.in.begin(), a.in.end());
      return write_regressions(campaigns, a.regressions), 0;
    };
  });

  auto* seed = app.add_subcommand("seed", "add cases, as another test found them, to the seed corpora");
  seed->add_option("CASE", a.in, "recipes, or witnesses (.safetensors)")->required()->type_name("");
  a.corpus = FLASHPROOF_FUZZ_CORPUS;
  seed->add_option("--to", a.corpus, "folder of the corpora; default fuzz/corpus of the source")->type_name("DIR");
  seed->callback([&] { command = [&] { return add_seeds(a.in, a.corpus), 0; }; });
}

}  // namespace flashproof
