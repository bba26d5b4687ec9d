// How a finding says where it is and how it is run again, and which files findings leave.
#include "fuzz/campaign/numbers.h"

#include "fuzz/campaign/test/campaign_fixture.h"

namespace flashproof {
namespace {

class Findings : public CampaignTest {
 protected:
  Findings() {
    make_folder(out);
    description.program = "/build/fuzz_fake";
    finding.subject = {"fake", "fake.one", "f32", "cpu", "det"};
    finding.what = "exceeds_bound";
    finding.input = {1, 2};
  }
  std::string text() const { return findings_text({finding}, out, description); }
  fs::path file(const char* extension) const { return out.findings() / (finding_name(finding) + extension); }

  Finding finding;
  Description description;
};

TEST_F(Findings, with_a_witness_are_replayed_with_their_kernel) {
  finding.witness = {'w'};
  EXPECT_THAT(text(), HasSubstr("./flashproof replay " + file(".safetensors").string() + " --kernel fake.one\n"));
  finding.subject.executor = "cuda";
  EXPECT_THAT(text(), HasSubstr(" --kernel fake.one --exec cuda\n"));
}

TEST_F(Findings, of_a_pair_are_replayed_by_what_the_witness_notes) {
  finding.subject.kernel = "fake.one|fake.two";
  finding.witness = {'w'};
  EXPECT_THAT(text(), HasSubstr("./flashproof replay " + file(".safetensors").string() + "\n"));
}

TEST_F(Findings, without_a_witness_are_run_by_the_target) {
  EXPECT_THAT(text(), Not(HasSubstr("replay")));
  EXPECT_THAT(text(),
              HasSubstr("  run:    /build/fuzz_fake --kernel=fake.one --format=f32 " + file(".input").string() + "\n"));
  finding.subject.kernel = "fake.one|fake.two";
  finding.subject.executor = "cuda";
  EXPECT_THAT(text(), HasSubstr("/build/fuzz_fake '--kernel=fake.one|fake.two' --format=f32 --exec=cuda "));
}

TEST_F(Findings, of_which_nothing_was_kept_name_the_log_if_there_is_one) {
  finding.input.clear();
  EXPECT_THAT(text(), Not(HasSubstr("replay")));
  EXPECT_THAT(text(), Not(HasSubstr(out.root.string())));
  const fs::path log = out.log() / (finding_name(finding) + ".log");
  write_file(log, "last words");
  EXPECT_THAT(text(), HasSubstr("  log:    " + log.string() + "\n"));
}

TEST_F(Findings, leave_files_with_their_present_contents) {
  write_findings({finding}, out);
  EXPECT_EQ(read_file(file(".input")), "\x01\x02");
  finding.input = {3, 4};  // of the same size
  write_findings({finding}, out);
  EXPECT_EQ(read_file(file(".input")), "\x03\x04");
  finding.witness = {'a', 'b'};
  write_findings({finding}, out);
  EXPECT_EQ(read_file(file(".safetensors")), "ab");
  EXPECT_FALSE(fs::exists(file(".input")));
  finding.witness = {'a', 'a'};
  write_findings({finding}, out);
  EXPECT_EQ(read_file(file(".safetensors")), "aa");
}

TEST_F(Findings, that_are_written_already_are_not_written_again) {
  write_findings({finding}, out);
  const auto before = fs::last_write_time(file(".input"));
  fs::last_write_time(file(".input"), before - std::chrono::hours(1));
  write_findings({finding}, out);
  EXPECT_EQ(fs::last_write_time(file(".input")), before - std::chrono::hours(1));
}

TEST_F(Findings, without_bytes_leave_no_file) {
  finding.input.clear();
  write_findings({finding}, out);
  EXPECT_TRUE(fs::is_empty(out.findings()));
}

}  // namespace
}  // namespace flashproof
