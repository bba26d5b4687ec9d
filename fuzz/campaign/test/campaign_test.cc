// Campaigns on the fake target: how its workers may end, and what of it stays.
#include "fuzz/campaign/campaign.h"

#include <sys/stat.h>

#include <chrono>
#include <set>

#include "fuzz/campaign/test/campaign_fixture.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

TEST_F(CampaignTest, a_steady_target) {
  EXPECT_EQ(run(options("fake.steady")), "0") << complained;
  EXPECT_GT(executions(), 1000U);
  EXPECT_THAT(said, HasSubstr("fake.steady f32"));
  EXPECT_THAT(said, HasSubstr("o.weights dense"));
  EXPECT_THAT(said, HasSubstr("finished after"));
  EXPECT_EQ(read_description(out)->state, "finished");
  for (const auto& one : archive().runs()) EXPECT_EQ(one.subject.kernel, "fake.steady");
}

TEST_F(CampaignTest, goes_on_where_it_was) {
  run(options("fake.steady"));
  const auto before = executions();
  run(options("fake.steady"));
  EXPECT_GT(executions(), before);
  std::set<std::string> ids;
  const auto runs = archive().runs();
  for (const auto& one : runs) ids.insert(one.id);
  EXPECT_EQ(ids.size(), runs.size());
  EXPECT_EQ(read_description(out)->starts, 2U);
}

TEST_F(CampaignTest, climbs_in_the_second_part_of_a_slice_unless_told_not_to) {
  run(options("fake.steady", 2));
  EXPECT_TRUE(fs::exists(out.corpus() / "fake.steady.f32" / "climbed"));
  out.root = folder / "second";
  CampaignOptions o = options("fake.steady", 2);
  o.climb = false;
  run(o);
  EXPECT_FALSE(fs::exists(out.corpus() / "fake.steady.f32" / "climbed"));
}

TEST_F(CampaignTest, every_subject_has_its_turn) {
  CampaignOptions o = options("fake.steady", 1.2);
  o.formats.clear();
  o.jobs = 2;
  EXPECT_EQ(run(o), "0");
  std::set<std::string> formats;
  for (const auto& one : archive().runs()) formats.insert(one.subject.format);
  EXPECT_THAT(formats, ElementsAre("f16", "f32"));
}

TEST_F(CampaignTest, a_shard_has_its_part) {
  CampaignOptions o = options("fake.steady");
  o.formats.clear();
  Machine machine = quiet_machine();
  machine.environment = [](const char* name) -> std::optional<std::string> {
    if (std::string(name) == "JOB_COMPLETION_INDEX") return "1";
    return std::string(name) == "JOB_COMPLETIONS" ? std::optional<std::string>("2") : std::nullopt;
  };
  EXPECT_EQ(run(o, machine), "0");
  for (const auto& one : archive().runs()) EXPECT_EQ(one.subject.format, "f32");
  EXPECT_TRUE(archive().runs().front().id.starts_with("1of2."));
}

TEST_F(CampaignTest, a_finding_is_minimised_and_replayable) {
  EXPECT_EQ(run(options("fake.finds", 1.5)), "1");
  const auto findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_FALSE(findings[0].witness.empty());
  const fs::path witness = out.findings() / (finding_name(findings[0]) + ".safetensors");
  EXPECT_EQ(read_file(witness), "w");
  EXPECT_THAT(said, HasSubstr("./flashproof replay " + witness.string() + " --kernel fake.finds\n"));
  EXPECT_FALSE(fs::exists(out.findings() / (finding_name(findings[0]) + ".input")));
}

TEST_F(CampaignTest, stops_on_a_finding_and_minimises_it) {
  CampaignOptions o = options("fake.finds", 60);
  o.stop_on_finding = true;
  const auto begin = Clock::now();
  EXPECT_EQ(run(o), "1");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  EXPECT_FALSE(archive().findings().at(0).witness.empty());
}

TEST_F(CampaignTest, findings_of_published_kernels_are_expected) {
  EXPECT_EQ(run(options("fake.expected")), "0");
  EXPECT_EQ(archive().findings().size(), 1U);
  EXPECT_THAT(said, HasSubstr("expected fake.expected"));
}

TEST_F(CampaignTest, an_input_that_kills_leaves_the_corpus) {
  write_file(folder / "seeds" / "fake" / "seed", "deadly");
  write_file(folder / "seeds" / "fake" / "harmless", "fine");
  run(options("fake.asan", 0.6));
  EXPECT_EQ(count_files(out.corpus()), 1U);
  EXPECT_EQ(count_files(out.rejected()), 1U);
}

TEST_F(CampaignTest, a_lost_context_or_worker_is_started_again) {
  for (const char* kernel : {"fake.lost", "fake.killed"}) {
    out.root = folder / kernel;
    EXPECT_EQ(run(options(kernel)), "0") << complained;
    EXPECT_GT(executions(), 100U);
    EXPECT_TRUE(archive().findings().empty());
  }
}

TEST_F(CampaignTest, a_worker_without_a_disk_ends_it) {
  EXPECT_EQ(run(options("fake.full", 60)), "infrastructure: archive.sqlite: no space left on the device");
  EXPECT_EQ(read_description(out)->state, "failed");
  EXPECT_THAT(said, HasSubstr("failed after"));
}

TEST_F(CampaignTest, a_worker_that_refuses_its_arguments_ends_it) {
  EXPECT_EQ(run(options("fake.refuses", 60)), "usage: --guide \"counters\": this target has none");
}

TEST_F(CampaignTest, workers_that_never_run_an_input_are_no_endless_loop) {
  for (const char* kernel : {"fake.odd", "fake.absent", "fake.idle"}) {
    out.root = folder / kernel;
    const auto begin = Clock::now();
    EXPECT_THAT(run(options(kernel, 60)), HasSubstr("5 workers in a row ended before they had run an input")) << kernel;
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
    EXPECT_TRUE(archive().findings().empty()) << kernel;
  }
}

TEST_F(CampaignTest, a_full_disk_refuses_the_start) {
  Machine machine = quiet_machine();
  machine.free_bytes = [](const fs::path&) { return kLeastFreeBytes - 1; };
  EXPECT_THAT(run(options("fake.steady"), machine), HasSubstr("63 MiB free, a campaign needs 64 MiB"));
  EXPECT_FALSE(fs::exists(out.archive()));
}

TEST_F(CampaignTest, a_disk_that_fills_up_ends_it_with_an_intact_archive) {
  Machine machine = quiet_machine();
  int asked = 0;
  machine.free_bytes = [&](const fs::path&) { return ++asked < 3 ? kLeastFreeBytes : 5U << 20U; };
  const auto begin = Clock::now();
  EXPECT_THAT(run(options("fake.steady", 60), machine), HasSubstr("5 MiB free"));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  EXPECT_GT(executions(), 100U);
  EXPECT_EQ(run(options("fake.steady")), "0");
}

TEST_F(CampaignTest, an_interruption_saves_everything) {
  Machine machine = quiet_machine();
  const auto begin = Clock::now();
  machine.stop_requested = [&] { return Clock::now() - begin > std::chrono::milliseconds(500); };
  EXPECT_EQ(run(options("fake.finds", 60), machine), "1");
  EXPECT_THAT(said, HasSubstr("interrupted after"));
  EXPECT_THAT(complained, HasSubstr("interrupted"));
  EXPECT_GT(executions(), 100U);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(CampaignTest, another_targets_folder_is_refused) {
  run(options("fake.steady", 0.6));
  CampaignOptions o = options("fake.steady");
  o.target = "other";
  EXPECT_THAT(run(o), HasSubstr("holds a campaign of target \"fake\", not \"other\""));
}

TEST_F(CampaignTest, inputs_of_other_tables_are_no_start) {
  run(options("fake.finds", 1.2));
  const std::string before = read_file(out.description());
  const auto had = executions();
  ::setenv("FAKE_TABLES", "4567", 1);
  const std::string refused = run(options("fake.finds"));
  const fs::path old = out.root;
  out.root = folder / "new";
  run(options("fake.steady"));  // a new folder is no resumption
  ::unsetenv("FAKE_TABLES");
  EXPECT_THAT(refused, testing::StartsWith("usage: --out"));
  EXPECT_THAT(refused, HasSubstr("(\"0123abcd\", now \"4567\")"));
  EXPECT_THAT(refused, HasSubstr("choose another --out"));
  EXPECT_THAT(refused, HasSubstr("flashproof-fuzz merge"));
  EXPECT_EQ(refused.find('\n'), std::string::npos);
  EXPECT_EQ(read_description(out)->tables, "4567");
  out.root = old;
  EXPECT_EQ(read_file(out.description()), before);
  EXPECT_EQ(executions(), had);
  EXPECT_EQ(run(options("fake.finds")), "1");  // the old tables again
}

TEST_F(CampaignTest, what_is_not_there_is_named) {
  EXPECT_THAT(run(options("fake.steadi")), HasSubstr("near: fake.steady"));
  CampaignOptions o = options("fake.steady");
  o.target = "fale";
  EXPECT_THAT(run(o), HasSubstr("near: fake"));
  EXPECT_FALSE(fs::exists(out.root));
}

TEST_F(CampaignTest, a_corpus_may_hold_anything) {
  const fs::path corpus = out.corpus() / "fake.steady.f32";
  write_file(corpus / "good", "fine");
  write_file(corpus / "huge", std::string(longest_input("fake") + 1, 'x'));
  fs::create_directories(corpus / "folder");
  fs::create_symlink("nowhere", corpus / "link");
  ASSERT_EQ(::mkfifo((corpus / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(run(options("fake.steady")), "0") << complained;
  EXPECT_EQ(count_files(out.corpus()), 1U);
  EXPECT_EQ(count_files(out.rejected()), 4U);
  EXPECT_THAT(said, HasSubstr("4 rejected"));
}

TEST_F(CampaignTest, seeds_are_copied_once) {
  write_file(folder / "seeds" / "fake" / "for_all", "a");
  write_file(folder / "seeds" / "fake" / "fake.steady.f32" / "for_one", "b");
  write_file(folder / "seeds" / "fake" / "fake.other.f32" / "for_another", "c");
  write_file(folder / "seeds" / "fake.txt", "softmax:normal:1\n");
  run(options("fake.steady", 0.6));
  EXPECT_EQ(count_files(out.corpus()), 3U);
  fs::remove(out.corpus() / "fake.steady.f32" / content_name({'a'}));
  run(options("fake.steady", 0.6));
  EXPECT_EQ(count_files(out.corpus()), 2U);  // what is gone stays gone
}

}  // namespace
}  // namespace flashproof
