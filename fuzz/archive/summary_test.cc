// What an archive amounts to, beside the rows it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/archive/archive_fixture.h"

namespace flashproof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Summaries : public ArchiveTest {
 protected:
  /// Two kernels with runs, one of them with elites and two findings, of which one has a witness.
  Summaries() {
    Archive archive(file, Archive::Open::create);
    archive.record({"run 1", of("a"), 10, 5, 1, 0.5});
    archive.record({"run 2", of("a"), 32, 5, 1, 0.25});
    archive.record({"run 3", of("b"), 100, 5, 1, 1});
    Elite worse = elite("a", 0.75, {1, 2, 3, 4});
    worse.term = "lse";
    archive.offer(elite("a", 0.5));
    archive.offer(worse);
    Finding small = finding("a");
    small.witness = {'w'}, small.brief = "one number";
    archive.report(small, "run 1");
    archive.report(other(), "run 2");
    archive.flush();
  }
  static Subject of(const std::string& kernel) { return {"attention", kernel, "f32", "cpu", "det"}; }
  static Finding other() {
    Finding result = finding("a");
    result.what = "nan";
    return result;
  }
};

TEST_F(Summaries, add_up_runs_and_name_the_worst) {
  const Summary all = Archive(file, Archive::Open::read_only).summary();
  ASSERT_EQ(all.subjects.size(), 2U);
  EXPECT_EQ(all.subjects[0].subject, of("a"));
  EXPECT_EQ(all.subjects[0].executions, 42U);
  EXPECT_EQ(all.subjects[0].seconds, 0.75);
  EXPECT_EQ(all.subjects[0].findings, 2U);
  ASSERT_TRUE(all.subjects[0].worst);
  EXPECT_EQ(all.subjects[0].worst->ratio, 0.75);
  EXPECT_EQ(all.subjects[0].worst->term, "lse");
  EXPECT_EQ(all.subjects[0].worst->shape_class, "causal");
  EXPECT_EQ(all.subjects[1].subject, of("b"));
  EXPECT_EQ(all.subjects[1].executions, 100U);
  EXPECT_EQ(all.subjects[1].findings, 0U);
  EXPECT_FALSE(all.subjects[1].worst);
  EXPECT_EQ(all.executions, 142U);
  EXPECT_EQ(all.findings, 2U);
  EXPECT_EQ(all.seconds, 1.75);
  ASSERT_TRUE(all.worst);
  EXPECT_EQ(all.worst->subject, of("a"));
  EXPECT_EQ(all.worst->ratio, 0.75);
}

TEST_F(Summaries, of_nothing_are_empty) {
  const Summary none = Archive(folder / "new.sqlite", Archive::Open::create).summary();
  EXPECT_THAT(none.subjects, IsEmpty());
  EXPECT_EQ(none.executions, 0U);
  EXPECT_FALSE(none.worst);
}

TEST_F(Summaries, know_findings_by_key_and_which_lack_a_witness) {
  Archive archive(file, Archive::Open::existing);
  const auto open = archive.unminimised();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_TRUE(open[0].same_key(other()));
  EXPECT_THAT(open[0].input, IsEmpty());
  EXPECT_TRUE(archive.knows(other()));
  Finding unknown = other();
  unknown.shape_class = "dense";
  EXPECT_FALSE(archive.knows(unknown));
  Finding minimised = other();
  minimised.witness = {'w'};
  archive.put_witness(minimised);
  EXPECT_THAT(archive.unminimised(), IsEmpty());
  EXPECT_EQ(archive.executions("run 2"), 32U);
  EXPECT_EQ(archive.executions("run"), 0U);
}

TEST_F(Summaries, see_what_another_process_flushed) {
  const Archive reader(file, Archive::Open::read_only);
  Archive writer(file, Archive::Open::existing);
  writer.record({"run 4", of("b"), 1000, 0, 0, 0});
  EXPECT_EQ(reader.summary().executions, 142U);
  writer.flush();
  EXPECT_EQ(reader.summary().executions, 1142U);
  EXPECT_EQ(reader.executions("run 4"), 1000U);
}

TEST_F(Summaries, of_counts_that_overflow_are_the_largest) {
  const std::string most = "9223372036854775807";
  for (const char* id : {"x", "y"}) {
    ASSERT_EQ(
        sql(file, fmt::format("INSERT INTO runs VALUES ('{}', 'attention', 'a', 'f32', 'cpu', 'det', {}, 0, 0, 1e308)",
                              id, most)),
        "");
  }
  const Summary all = Archive(file, Archive::Open::read_only).summary();
  EXPECT_EQ(all.executions, 9223372036854775807U);
}

TEST_F(Summaries, of_numbers_that_no_archive_has_are_refused) {
  const Archive archive(file, Archive::Open::read_only);
  for (const char* change : {"UPDATE runs SET executions = -1000", "UPDATE runs SET seconds = -1e308",
                             "UPDATE elites SET ratio = -1", "UPDATE elites SET ratio = 9e999"}) {
    ASSERT_EQ(sql(file, change), "");
    EXPECT_NE(refusal<UsageError>([&] { archive.summary(); }), "") << change;
    ASSERT_EQ(sql(file, "UPDATE runs SET executions = 1, seconds = 1; UPDATE elites SET ratio = 0.5"), "");
    EXPECT_EQ(archive.summary().executions, 3U);
  }
}

TEST_F(Summaries, a_merge_without_inputs_takes_witnesses_and_runs) {
  const fs::path to = folder / "to.sqlite";
  Archive archive(to, Archive::Open::create);
  const Archive from(file, Archive::Open::read_only);
  for (int i = 0; i < 2; ++i) archive.merge(from, Archive::Take::witnessed);
  EXPECT_THAT(archive.elites(), IsEmpty());
  const auto findings = archive.findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].same_key(finding("a")));
  EXPECT_THAT(findings[0].witness, ElementsAre('w'));
  EXPECT_EQ(findings[0].brief, "one number");
  EXPECT_EQ(findings[0].hits, 1U);
  EXPECT_THAT(findings[0].input, IsEmpty());
  EXPECT_EQ(archive.summary().executions, 142U);
}

}  // namespace
}  // namespace flashproof
