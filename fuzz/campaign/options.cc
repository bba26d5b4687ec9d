#include "fuzz/campaign/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "fuzz/campaign/regressions.h"
#include "fuzz/campaign/union.h"
#include "reference/system/error.h"
#include "reference/system/process.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr double kMostSeconds = 1e8;
constexpr int kMostJobs = 4096;
const char* const kCampaigns = "out/fuzz";  // campaigns without --out

/// An option that may be given several times, each time with one value, so that it never swallows a positional.
void many(CLI::App* app, const std::string& flag, std::vector<std::string>& to, const std::string& help) {
  app->add_option(flag, to, help)->type_size(1)->expected(1)->take_all()->type_name("GLOB");
}

void choice(CLI::App* app, const std::string& flag, std::string& to, const std::vector<std::string>& legal,
            const std::string& help) {
  app->add_option(flag, to, help)->check(CLI::IsMember(legal))->type_name(fmt::format("{}", fmt::join(legal, "|")));
}

// CLI11's own numbers take "-1", "0x10" and NaN.
void add_numbers(CLI::App* app, CampaignOptions& o) {
  app->add_option("--seconds", o.seconds, "for all subjects together; default 60")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool legal = CLI::detail::lexical_cast(text, seconds) && seconds >= 1 && seconds <= kMostSeconds;
        return legal ? std::string() : fmt::format("{}: must be 1..{:.0f}", quote(text), kMostSeconds);
      })
      ->type_name("S");
  app->add_option_function<std::string>(
         "--jobs",
         [&o](const std::string& text) {
           const auto jobs = parse_u64(text);
           if (!jobs || *jobs < 1 || *jobs > kMostJobs) {
             throw CLI::ValidationError(fmt::format("--jobs {}: must be 1..{}", quote(text), kMostJobs));
           }
           o.jobs = static_cast<int>(*jobs);
         },
         "workers at once; default one per core, with --exec cuda one")
      ->type_name("N");
  app->add_option_function<std::string>(
         "--seed",
         [&o](const std::string& text) {
           const auto seed = parse_u64(text);
           if (!seed) throw CLI::ValidationError("--seed " + quote(text) + ": must be 0..18446744073709551615");
           o.seed = *seed;
         },
         "of the engine's random choices; default 1")
      ->type_name("N");
}

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
  fuzz_app->add_option("TARGET", o.target, "a program fuzz_TARGET: softmax, merge, attention, ...")->type_name("");
  add_numbers(fuzz_app, o);
  many(fuzz_app, "--kernel", o.kernels, "kernels (* and ?); default the hardened ones");
  many(fuzz_app, "--format", o.formats, "storage formats; default all");
  choice(fuzz_app, "--exec", o.executor, {"cpu", "cuda"}, "default cpu");
  choice(fuzz_app, "--guide", o.guide, {"counters", "edges", "none"},
         "how error/bound guides the engine; default counters");
  fuzz_app->add_flag("--sanitize", a.sanitize,
                     "./flashproof builds the target with AddressSanitizer and UBSan (preset fuzz-asan)");
  fuzz_app
      ->add_option("--shard", a.shard,
                   "this machine's share, i in 0..N-1; default what a Slurm array or an indexed job says")
      ->type_name("i/N");
  fuzz_app->add_flag("!--no-climb", o.climb, "no local search around the worst cases");
  fuzz_app->add_flag("--stop-on-finding", o.stop_on_finding, "end with the first finding");
  fuzz_app->add_option("--out", a.out, "the campaign's folder; default out/fuzz/TARGET")->type_name("DIR");
  fuzz_app->add_option("--targets", o.targets, "folder of the fuzz_TARGET programs; default beside this one")
      ->type_name("DIR");
  o.seeds = FLASHPROOF_FUZZ_CORPUS;
  fuzz_app->add_option("--seeds", o.seeds, "seed corpora; default fuzz/corpus of the source")->type_name("DIR");
  auto* status =
      fuzz_app->add_option("--status", a.status, "no fuzzing: how the campaign in DIR stands; default all in out/fuzz")
          ->expected(0, 1)
          ->type_name("[DIR]");
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
