#include "fuzz/targets/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/test/message_of.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

/// A target without kernels: the score is made of the input's law byte.
std::vector<TargetSubject> fake_subjects() {
  return {{"fake.a.hardened", "hardened", Format::f32},
          {"fake.b.published", "published", Format::f32},
          {"fake.b.hardened", "hardened", Format::f16}};
}

Scored fake_run(const TargetSubject& subject, const FuzzInput& input, Executor) {
  if (input.law == 200) throw UsageError("no such case");
  Scored scored{.case_line = describe(input), .shape_class = "2^3", .finding_class = "plain"};
  scored.score.ran = input.law != 201;
  scored.score.terms = {{"o.weights", input.law / 256.0, 1, 2}, {"lse.output", 0.25, 0, 0}};
  if (input.law >= 240) {
    scored.score.what = subject.kernel == "fake.a.hardened" ? "exceeds_bound" : "error";
    scored.score.term = "o.weights";
    scored.score.ratio = 1.5;
    scored.score.verdict = {VerdictKind::fail, Failure::exceeds_bound, "because\nof this"};
  }
  return scored;
}

Minimised fake_minimise(const TargetSubject&, const FuzzInput& input, Executor, const Defect& defect, int tries,
                        const std::function<bool()>&) {
  if (input.law < 240) throw UsageError("input: does not show it");
  const Case c = make_case(parse_case_spec("softmax:normal:1:rows=1,cols=1"));
  return {format_witness({c, {{"finding", defect.what}, {"law", std::to_string(input.law)}}}),
          "smallest of " + std::to_string(tries)};
}

Target fake_target() {
  return {"fake", fake_subjects, fake_run, fake_minimise, [](const TargetSubject&) { return ProblemKind::softmax; }};
}

class SessionTest : public testing::Test {
 protected:
  SessionTest() : folder_(fs::temp_directory_path() / ("session_test." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~SessionTest() override { fs::remove_all(folder_); }

  SessionOptions options() const {
    SessionOptions o;
    o.kernel = "fake.a.hardened";
    o.format = "f32";
    o.archive = (folder_ / "archive.sqlite").string();
    o.run = "test";
    return o;
  }
  static std::vector<std::uint8_t> input(std::uint8_t law, std::uint8_t kernel = 0) {
    FuzzInput in{.kernel = kernel, .law = law};
    in.origin.spec = parse_case_spec("softmax:normal:1");
    return *encode_input(in);
  }
  Archive archive() const { return Archive(folder_ / "archive.sqlite", Archive::Open::existing); }

  fs::path folder_;
};

TEST_F(SessionTest, keeps_the_worst_input_of_every_term_and_counts_what_ran) {
  Session session(fake_target(), options());
  EXPECT_EQ(session.run(input(10)), 0);
  EXPECT_EQ(session.run(input(90)), 0);
  EXPECT_EQ(session.run(input(50)), 0);
  EXPECT_EQ(session.run(input(200)), -1);  // refused by the family
  EXPECT_EQ(session.run(input(201)), -1);  // not taken by the kernel
  session.flush();
  const std::vector<Elite> elites = archive().elites();
  ASSERT_EQ(elites.size(), 2U);
  for (const Elite& e : elites) {
    EXPECT_EQ(e.subject, (Subject{"fake", "fake.a.hardened", "f32", "cpu", "det"}));
    EXPECT_EQ(e.ratio, e.term == "o.weights" ? 90 / 256.0 : 0.25);
    if (e.term == "o.weights") {
      EXPECT_EQ(e.input, input(90));
    }
  }
  const std::vector<flashproof::Run> runs = archive().runs();
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].id, "test");
  EXPECT_EQ(runs[0].executions, 5U);
  EXPECT_EQ(runs[0].judged, 3U);
}

TEST_F(SessionTest, many_hits_of_one_defect_are_one_finding) {
  Session session(fake_target(), options());
  for (int n = 0; n < 10000; ++n) session.run(input(static_cast<std::uint8_t>(240 + n % 16)));
  session.flush();
  const std::vector<Finding> findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].hits, 10000U);
  EXPECT_EQ(findings[0].what, "exceeds_bound");
  EXPECT_EQ(findings[0].ratio, 1.5);
  EXPECT_EQ(findings[0].schedule, "fifo");
  EXPECT_EQ(findings[0].input, input(240));
  EXPECT_THAT(findings[0].detail, testing::Not(testing::HasSubstr("\n")));
}

TEST_F(SessionTest, minimising_gives_every_finding_one_witness) {
  Session session(fake_target(), options());
  session.run(input(250));
  session.minimise(17);
  session.minimise(99);  // has one
  const std::vector<Finding> findings = archive().findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].brief, "smallest of 17");
  const auto bytes = std::as_bytes(std::span(findings[0].witness));
  const Witness witness = parse_witness(bytes, "witness");
  EXPECT_EQ(witness.notes.at("finding"), "exceeds_bound");
  EXPECT_EQ(witness.notes.at("law"), "250");
}

TEST_F(SessionTest, climbing_starts_from_the_archive_and_leaves_better_inputs) {
  // The fake's ratio does not depend on mutations: nothing gets better, nothing is written.
  Session session(fake_target(), options());
  session.run(input(90));
  const fs::path corpus = folder_ / "corpus";
  fs::create_directories(corpus);
  session.climb(0.05, corpus.string());
  EXPECT_GT(session.totals().executions, 10U);
  EXPECT_TRUE(fs::is_empty(corpus));

  Target rising = fake_target();
  rising.run = [](const TargetSubject& subject, const FuzzInput& in, Executor executor) {
    Scored scored = fake_run(subject, in, executor);
    scored.score.terms[0].ratio = 0.01 * static_cast<double>(in.origin.mutations.size());
    // A change is made at the element that the parent's term was worst at.
    if (!in.origin.mutations.empty()) {
      EXPECT_THAT(in.origin.mutations.back(),
                  testing::AnyOf(testing::Field(&Mutation::row, 1), testing::Field(&Mutation::row, 0)));
    }
    return scored;
  };
  SessionOptions other = options();
  other.archive = (folder_ / "rising.sqlite").string();
  Session climber(rising, other);
  climber.run(input(90));
  climber.climb(0.05, corpus.string());
  EXPECT_FALSE(fs::is_empty(corpus));
  const Archive archive(folder_ / "rising.sqlite", Archive::Open::existing);
  double best = 0;
  for (const Elite& e : archive.elites()) best = std::max(best, e.ratio);
  EXPECT_GE(best, 0.02);
}

/// fake_run of each.
ScoredBatch fake_batch(const TargetSubject& subject, std::span<const FuzzInput> inputs, const BatchOptions& options) {
  ScoredBatch batch;
  batch.results.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) batch.results[i] = fake_run(subject, inputs[i], options.executor);
  return batch;
}

TEST_F(SessionTest, a_hunt_keeps_elites_findings_and_better_inputs) {
  Target target = fake_target();
  target.run_batch = [](const TargetSubject& subject, std::span<const FuzzInput> inputs, const BatchOptions& options) {
    ScoredBatch batch = fake_batch(subject, inputs, options);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      batch.results[i]->score.terms[0].ratio = 0.1 + 0.01 * static_cast<double>(inputs[i].origin.mutations.size());
    batch.results[7].reset();  // no case
    return batch;
  };
  SessionOptions o = options();
  o.batch = 64;
  o.seed = 3;
  Session session(target, o);
  const fs::path corpus = folder_ / "corpus";
  fs::create_directories(corpus);
  session.hunt(0.05, corpus.string());
  EXPECT_GT(session.totals().executions, 64U);
  EXPECT_LT(session.totals().judged, session.totals().executions);
  EXPECT_FALSE(fs::is_empty(corpus));
  double best = 0;
  for (const Elite& e : archive().elites()) best = std::max(best, e.ratio);
  EXPECT_GE(best, 0.12) << "changes of changes";
}

TEST_F(SessionTest, a_target_without_batches_hunts_one_by_one) {
  Session session(fake_target(), options());
  fs::create_directories(folder_ / "corpus");
  session.hunt(0.05, (folder_ / "corpus").string());
  EXPECT_GT(session.totals().judged, 10U);
}

Scored fatal_run(const TargetSubject& subject, const FuzzInput& input, Executor executor) {
  Scored scored = fake_run(subject, input, executor);
  scored.score.what = "error";
  scored.score.verdict = {VerdictKind::fail, Failure::error, "illegal address"};
  return scored;
}

TEST_F(SessionTest, a_lost_context_leaves_a_finding_and_suspects_which_run_alone_next) {
  Target target = fake_target();
  target.run_batch = [](const TargetSubject& subject, std::span<const FuzzInput> inputs, const BatchOptions& options) {
    ScoredBatch batch = fake_batch(subject, inputs, options);
    batch.results[2].reset();  // of the launch that was lost: nothing is known of them
    batch.results[3].reset();
    batch.lost = true;
    batch.together = {2, 3};
    batch.failed_launches = {{0, 1}, {2, 3}};
    batch.why = "illegal address";
    return batch;
  };
  SessionOptions o = options();
  o.executor = Executor::cuda;
  o.suspects = (folder_ / "suspects").string();
  o.batch = 64;
  fs::create_directories(folder_ / "corpus");
  const auto hunt = [&] { Session(target, o).hunt(5, (folder_ / "corpus").string()); };
  EXPECT_EXIT(hunt(), testing::ExitedWithCode(kExitLost), "");
  ASSERT_EQ(archive().findings().size(), 1U);
  EXPECT_EQ(archive().findings()[0].what, "batch:error");
  EXPECT_FALSE(archive().elites().empty()) << "what other launches showed";
  EXPECT_EQ(std::distance(fs::directory_iterator(o.suspects), fs::directory_iterator()), 2);
  const fs::path failed_launches = o.suspects + ".launch";
  ASSERT_EQ(std::distance(fs::directory_iterator(failed_launches), fs::directory_iterator()), 1);
  const fs::path launch = fs::directory_iterator(failed_launches)->path();
  EXPECT_EQ(std::distance(fs::directory_iterator(launch), fs::directory_iterator()), 2) << "all that ran together";

  target.run = fatal_run;  // each of them does it alone
  EXPECT_EXIT(hunt(), testing::ExitedWithCode(kExitLost), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(o.suspects), fs::directory_iterator()), 1);
  std::set<std::string> what;
  for (const Finding& f : archive().findings()) what.insert(f.what);
  EXPECT_EQ(what, (std::set<std::string>{"batch:error", "error"}));

  target.run = fake_run;
  target.run_batch = fake_batch;
  o.executor = Executor::cpu;
  Session(target, o).hunt(0.05, (folder_ / "corpus").string());
  EXPECT_TRUE(fs::is_empty(o.suspects));
}

TEST_F(SessionTest, a_law_that_loses_the_context_ends_the_process) {
  Target target = fake_target();
  target.run = [](const TargetSubject& subject, const FuzzInput& input, Executor executor) {
    Scored scored = fatal_run(subject, input, executor);
    scored.score.what = "merge_commutes:error";
    return scored;
  };
  SessionOptions o = options();
  o.executor = Executor::cuda;
  EXPECT_EXIT(Session(target, o).run(input(10)), testing::ExitedWithCode(kExitLost), "");
  EXPECT_EQ(archive().findings().size(), 1U);
}

TEST_F(SessionTest, without_a_kernel_the_input_chooses_among_the_hardened_ones) {
  SessionOptions all = options();
  all.kernel = all.format = "";
  Session session(fake_target(), all);
  session.run(input(10, 0));
  session.run(input(10, 1));
  session.flush();
  std::vector<std::string> kernels;
  for (const Elite& e : archive().elites()) kernels.push_back(e.subject.kernel + " " + e.subject.format);
  EXPECT_THAT(kernels, testing::UnorderedElementsAre("fake.a.hardened f32", "fake.a.hardened f32",
                                                     "fake.b.hardened f16", "fake.b.hardened f16"));
}

TEST_F(SessionTest, seeds_are_the_lines_of_a_file_and_one_input_for_every_law) {
  const fs::path file = folder_ / "seeds.txt", out = folder_ / "seeds";
  std::ofstream(file) << "# two\nsoftmax:normal:1:rows=3,cols=65\nsoftmax:huge:2:rows=1,cols=9\n";
  Session session(fake_target(), options());
  session.write_seeds(file.string(), out.string());
  const auto files = std::distance(fs::directory_iterator(out), fs::directory_iterator());
  EXPECT_EQ(files, 2 + 2 * (256 - kNoLaw));  // both are among the first lines, which come with every law
  for (const char* bad :
       {"softmax:no_such:1\n", "softmax:normal:1:rows=19\n", "merge:normal:1\n", "# nothing\n", "what\n"}) {
    std::ofstream(file) << bad;
    EXPECT_THROW(session.write_seeds(file.string(), out.string()), UsageError) << bad;
  }
}

TEST_F(SessionTest, inputs_are_regular_files_of_a_size_that_fits) {
  const fs::path corpus = folder_ / "corpus", suspects = folder_ / "suspects";
  for (const fs::path& folder : {corpus, suspects}) {
    fs::create_directories(folder);
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    fs::create_symlink("/dev/zero", folder / "device");
    fs::create_directories(folder / "folder");
  }
  write_input(corpus, input(250));
  SessionOptions o = options();
  o.suspects = suspects.string();
  Session session(fake_target(), o);
  session.hunt(0.05, corpus.string());
  EXPECT_GT(session.totals().judged, 0U);
  for (const fs::path& folder : {suspects, corpus}) {
    std::ofstream(folder / "sparse") << "x";
    fs::resize_file(folder / "sparse", std::uintmax_t{8} << 40);
    EXPECT_THAT(
        message_of([&] { session.hunt(0.05, corpus.string()); }),
        testing::EndsWith(folder.filename().string() + "/sparse: 8796093022208 bytes, must be at most 67108864"));
    fs::remove(folder / "sparse");
  }
  for (const char* name : {"pipe", "device", "folder", "missing"}) {
    const std::string file = (corpus / name).string();
    EXPECT_THAT(message_of([&] { session.describe_input(file); }), testing::HasSubstr("must be a regular file"))
        << name;
    EXPECT_THAT(message_of([&] { session.write_seeds(file, (folder_ / "seeds").string()); }),
                testing::HasSubstr("must be a regular file"))
        << name;
  }
}

TEST_F(SessionTest, a_subject_that_the_target_does_not_have_is_refused) {
  SessionOptions wrong = options();
  wrong.kernel = "no.such.kernel";
  EXPECT_THROW(Session(fake_target(), wrong), UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "archive.sqlite"));
}

}  // namespace
}  // namespace flashproof
