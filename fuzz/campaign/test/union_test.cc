// merge, export and status, on campaigns of the fake target.
#include "fuzz/campaign/union.h"

#include <nlohmann/json.hpp>

#include "fuzz/campaign/test/campaign_fixture.h"

namespace flashproof {
namespace {

using nlohmann::json;

class Union : public CampaignTest {
 protected:
  /// A campaign in folder/NAME.
  fs::path campaign(const std::string& name, const std::string& kernel, const std::string& seed) {
    write_file(folder / "seeds" / "fake" / "seed", seed);
    out.root = folder / name;
    run(options(kernel, 0.8));
    return out.root;
  }
  template <class Body>
  std::string quietly(Body body) {
    testing::internal::CaptureStdout();
    std::string error;
    try {
      body();
    } catch (const UsageError& e) {
      error = e.what();
    }
    said = testing::internal::GetCapturedStdout();
    return error;
  }
};

TEST_F(Union, is_the_union_however_often_it_is_made) {
  const fs::path a = campaign("a", "fake.finds", "one"), b = campaign("b", "fake.steady", "two");
  std::uint64_t sum = 0;
  for (const auto& from : {a, b}) out.root = from, sum += executions();
  out.root = folder / "all";
  EXPECT_EQ(quietly([&] { merge_campaigns(out.root, {a, b}); }), "");
  EXPECT_EQ(executions(), sum);
  EXPECT_EQ(archive().findings().size(), 1U);
  EXPECT_TRUE(fs::exists(out.corpus() / "fake.finds.f32" / content_name({'o', 'n', 'e'})));
  EXPECT_TRUE(fs::exists(out.corpus() / "fake.steady.f32" / content_name({'t', 'w', 'o'})));
  EXPECT_FALSE(fs::is_empty(out.findings()));
  const auto files = count_files(out.corpus());
  EXPECT_EQ(quietly([&] { merge_campaigns(out.root, {b, a, b}); }), "");
  EXPECT_EQ(executions(), sum);
  EXPECT_EQ(count_files(out.corpus()), files);
  EXPECT_THAT(said, HasSubstr("0 inputs added"));
  EXPECT_EQ(run(options("fake.steady", 0.6)), "1");  // the union goes on, and remembers
}

TEST_F(Union, refuses_what_is_no_campaign_before_it_writes) {
  const fs::path a = campaign("a", "fake.steady", "one");
  write_file(folder / "damaged" / "fuzz.json", "{\"version\": 1}");
  write_file(folder / "later" / "fuzz.json", "{\"version\": 99}");
  fs::copy(a, folder / "other", fs::copy_options::recursive);
  std::string text = read_file(a / "fuzz.json");
  text.replace(text.find("\"target\": \"fake\""), 16, "\"target\": \"else\"");
  write_file(folder / "other" / "fuzz.json", text);
  for (const char* wrong : {"nowhere", "damaged", "later", "other", "all"}) {
    const std::string error = quietly([&] { merge_campaigns(folder / "all", {a, folder / wrong}); });
    EXPECT_THAT(error, HasSubstr(wrong));
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_FALSE(fs::exists(folder / "all"));
  }
  EXPECT_THAT(quietly([&] { merge_campaigns(a, {a}); }), HasSubstr("OUT itself"));
}

TEST_F(Union, of_other_tables_only_witnesses_are_taken) {
  const fs::path old = campaign("old", "fake.finds", "one"), crashed = campaign("crashed", "fake.asan", "two");
  ::setenv("FAKE_TABLES", "4567", 1);
  const fs::path now = campaign("now", "fake.steady", "three");
  ::unsetenv("FAKE_TABLES");
  const auto files = count_files(out.corpus()), elites = archive().elites().size();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(quietly([&] { merge_campaigns(now, {old, crashed}); }), "");
  EXPECT_THAT(said, HasSubstr("only its findings with a witness"));
  EXPECT_EQ(count_files(out.corpus()), files);
  EXPECT_EQ(archive().elites().size(), elites);
  const auto findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].subject.kernel, "fake.finds");
  EXPECT_TRUE(findings[0].input.empty());
  EXPECT_EQ(read_file(out.findings() / (finding_name(findings[0]) + ".safetensors")), "w");
  EXPECT_EQ(read_description(out)->tables, "4567");
  EXPECT_EQ(quietly([&] { export_campaign(now, folder / "export"); }), "");
  const json index = json::parse(read_file(folder / "export" / "index.json"));
  EXPECT_FALSE(index["findings"][0].contains("file"));
  EXPECT_EQ(quietly([&] { export_campaign(now, folder / "export"); }), "");  // its own index is one
}

TEST_F(Union, an_export_is_stable_and_complete) {
  const fs::path a = campaign("a", "fake.finds", "one"), to = folder / "export";
  EXPECT_EQ(quietly([&] { export_campaign(a, to); }), "");
  const std::string first = read_file(to / "index.json");
  const json index = json::parse(first);
  ASSERT_EQ(index["elites"].size(), 1U);
  ASSERT_EQ(index["findings"].size(), 1U);
  EXPECT_EQ(read_file(to / index["elites"][0]["file"].get<std::string>()), "\x01\x02\x03");
  EXPECT_EQ(read_file(to / index["findings"][0]["file"].get<std::string>()), "\x09\x09\x09");
  EXPECT_EQ(read_file(to / index["findings"][0]["witness"].get<std::string>()), "w");
  const auto listing = [&] {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(to)) files.push_back(entry.path());
    return std::set<std::string>(files.begin(), files.end());
  };
  const auto files = listing();
  run(options("fake.finds", 0.6));  // more of the same
  EXPECT_EQ(quietly([&] { export_campaign(a, to); }), "");
  EXPECT_EQ(read_file(to / "index.json"), first);
  EXPECT_EQ(listing(), files);
}

TEST_F(Union, an_export_removes_only_what_it_wrote) {
  const fs::path a = campaign("a", "fake.finds", "one"), b = campaign("b", "fake.steady", "two"),
                 to = folder / "export";
  quietly([&] { export_campaign(a, to); });
  const std::string file = json::parse(read_file(to / "index.json"))["findings"][0]["file"];
  write_file(to / "mine", "x");
  EXPECT_EQ(quietly([&] { export_campaign(b, to); }), "");
  EXPECT_FALSE(fs::exists(to / file));
  EXPECT_TRUE(fs::exists(to / "mine"));
  write_file(to / "index.json", R"({"findings": [{"file": "../a/archive.sqlite"}]})");
  EXPECT_THAT(quietly([&] { export_campaign(b, to); }), HasSubstr("no index of an export"));
  EXPECT_TRUE(fs::exists(out.archive()));
  EXPECT_THAT(quietly([&] { export_campaign(folder / "nowhere", to); }), HasSubstr("no campaign is there"));
}

TEST_F(Union, what_has_not_run_alone_goes_along_and_is_said) {
  const fs::path a = campaign("a", "fake.steady", "one");
  write_file(a / "suspects" / "fake.steady.f32" / content_name({'x'}), "x");
  write_file(a / "suspects" / "fake.steady.f32.launch" / "1234" / content_name({'y'}), "y");
  EXPECT_EQ(quietly([&] { show_campaign(a); }), "");
  EXPECT_THAT(said, HasSubstr("1 inputs of launches that lost the GPU have not run alone yet"));
  out.root = folder / "all";
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(quietly([&] { merge_campaigns(out.root, {a}); }), "");
    EXPECT_THAT(said, HasSubstr("1 inputs of launches"));
    EXPECT_THAT(said, HasSubstr("1 launches failed together"));
  }
  EXPECT_TRUE(fs::exists(out.suspects() / "fake.steady.f32" / content_name({'x'})));
  EXPECT_TRUE(fs::exists(out.suspects() / "fake.steady.f32.launch" / "1234" / content_name({'y'})));
}

TEST_F(Union, status_of_an_ended_campaign) {
  const fs::path a = campaign("a", "fake.finds", "one");
  const std::size_t begin = said.find("\n\nsubject ");
  const std::string table = said.substr(begin, said.find("\n\n", begin + 2) - begin);
  EXPECT_EQ(quietly([&] { show_campaign(a); }), "");
  EXPECT_THAT(said, HasSubstr(": finished; "));
  EXPECT_THAT(said, HasSubstr(table));
  EXPECT_THAT(said, HasSubstr("replay: ./flashproof replay"));
  EXPECT_THAT(quietly([&] { show_campaign(folder / "nowhere"); }), HasSubstr("no campaign is there"));
}

}  // namespace
}  // namespace flashproof
