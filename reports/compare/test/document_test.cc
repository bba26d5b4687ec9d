#include "reports/compare/views/document.h"

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

TEST(document, records_are_known_by_name_and_their_cases_by_class) {
  Report report = small_report();
  Record& changed = record_of(report, 1);
  changed.o.max_ratio = INFINITY;
  changed.o.max_ulp = NAN;
  fail_seeds(changed, Failure::leak, {2, 4});
  const Document d = document(report);
  ASSERT_EQ(d.records.size(), 4U);
  const RecordOf& r = d.records.at({"softmax.a.hardened", "f32", "cpu", "det", "ties"});
  EXPECT_TRUE(std::isinf(r.max_ratio));
  EXPECT_TRUE(std::isnan(r.figures.at("o").max_ulp));
  EXPECT_EQ(r.figures.at("o").octaves.counts.begin()->first, kExact);
  EXPECT_EQ(r.classes[static_cast<std::size_t>(CaseClass::leak)], 3U);
  EXPECT_EQ(r.class_seeds[static_cast<std::size_t>(CaseClass::leak)].intervals(),
            (std::vector<SeedSet::Interval>{{2, 4}}));
  EXPECT_EQ(r.class_seeds[static_cast<std::size_t>(CaseClass::pass)].intervals(),
            (std::vector<SeedSet::Interval>{{0, 1}, {5, 11}}));
  EXPECT_EQ(r.replay, "./flashproof replay softmax:ties:3:format=f32 --kernel softmax.a.hardened");
  EXPECT_EQ(r.replay_of(12), "./flashproof replay softmax:ties:12:format=f32 --kernel softmax.a.hardened");
  EXPECT_EQ(d.label(), "0123456789ab (seed 0, default)");
  EXPECT_EQ(d.partial(), "");
}

TEST(document, a_replay_line_names_executor_and_math) {
  Report report = small_report();
  Record& record = record_of(report, 0);
  record.executor = Executor::cuda;
  record.kernel = &made_kernel("softmax.a.hardened", Math::native);
  EXPECT_THAT(document(report).records.at({"softmax.a.hardened", "f32", "cuda", "native", "normal"}).replay,
              HasSubstr(" --exec cuda --math native"));
}

TEST(document, a_file_that_is_none_is_named) {
  EXPECT_THAT(complaint([] { read_document("no/such.json"); }), HasSubstr("must be a regular file"));
  EXPECT_THAT(complaint([] { read_document("/"); }), HasSubstr("must be a regular file"));
}

}  // namespace
}  // namespace flashproof::compare
