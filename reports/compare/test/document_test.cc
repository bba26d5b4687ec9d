#include "reports/compare/document.h"

#include "reports/compare/test/compare_fixture.h"

namespace flashproof::compare {
namespace {

std::string refused(const Json& report) {
  return complaint([&] { document(report); });
}

TEST(document, a_report_is_read) {
  Json report = report_json();
  report["records"][1]["max_ratio"] = "inf";
  report["records"][1]["figures"]["o"]["max_ulp"] = "nan";
  const Document d = document(report);
  ASSERT_EQ(d.records.size(), 4U);
  const RecordOf& r = d.records.at({"softmax.a.hardened", "f32", "cpu", "det", "ties"});
  EXPECT_TRUE(std::isinf(r.max_ratio));
  EXPECT_TRUE(std::isnan(r.figures.at("o").max_ulp));
  EXPECT_EQ(r.seeds, "0..11");
  EXPECT_EQ(r.figures.at("o").octaves.counts.begin()->first, kExact);
  EXPECT_EQ(r.witness->replay, "./flashproof replay softmax:ties:3:format=f32 --kernel softmax.a.hardened");
  EXPECT_EQ(d.label(), "0123456789ab (seed 0, default)");
  EXPECT_EQ(d.partial(), "");
}

TEST(document, a_replay_line_names_executor_and_math_and_is_fit_for_a_shell) {
  Json report = report_json();
  Json& record = report["records"][0];
  record["executor"] = "cuda";
  record["math"] = "native";
  const Key key{"softmax.a.hardened", "f32", "cuda", "native", "normal"};
  EXPECT_THAT(document(report).records.at(key).witness->replay, HasSubstr(" --exec cuda --math native"));
  record["witness"]["case"] = "softmax:$(reboot):1";
  EXPECT_EQ(document(report).records.at(key).witness->replay, "./flashproof replay out/x.safetensors");
}

TEST(document, what_is_no_report_of_this_schema_is_refused_in_one_line) {
  EXPECT_THAT(refused(Json::array()), HasSubstr("no \"schema\""));
  EXPECT_THAT(refused({{"schema", 3}}), HasSubstr("no \"schema\""));
  Json old = report_json();
  old["schema"] = "flashproof.report/4";
  EXPECT_THAT(refused(old), HasSubstr("must be flashproof.report/5; make the report again"));
  old["schema"] = "someone.else/1";
  EXPECT_THAT(refused(old), Not(HasSubstr("again")));
}

TEST(document, a_wrong_field_is_named_by_its_path) {
  const auto changed = [](const char* pointer, Json value) {
    Json report = report_json();
    report[Json::json_pointer(pointer)] = std::move(value);
    return refused(report);
  };
  EXPECT_THAT(changed("/records/2/cases", "12"), HasSubstr("/records/2/cases is "));
  EXPECT_THAT(changed("/records/2/cases", -1), HasSubstr("/records/2/cases is -1, legal is a whole number"));
  EXPECT_THAT(changed("/records/2/cases", 13), HasSubstr("add up to its 13 cases, not to 12"));
  EXPECT_THAT(changed("/records/2/cases", 1'000'000'001), HasSubstr("/records/2/cases is "));
  EXPECT_THAT(changed("/records/0/kernel", 3), HasSubstr("a.json: /records/0/kernel is 3, legal is a text"));
  EXPECT_THAT(changed("/records/0/figures/o/rmse", "big"), HasSubstr("/records/0/figures/o/rmse is "));
  EXPECT_THAT(changed("/records/0/figures/o/ulp_octaves/44", 1), HasSubstr("octave in -20..43; there is \"44\""));
  EXPECT_THAT(changed("/records/0/figures/o/ulp_octaves/0", 3), HasSubstr("they add up to 101"));
  EXPECT_THAT(changed("/records/0/counts/cases/perfect", 0), HasSubstr("there is \"perfect\""));
  EXPECT_THAT(changed("/records/0/seeds", {{1}}), HasSubstr("/seeds/0 is a list, legal is [first seed, last seed]"));
  EXPECT_THAT(changed("/records/1/family", "normal"),
              HasSubstr("the only record of softmax.a.hardened/f32/cpu/det/normal"));
  EXPECT_THAT(changed("/runs", Json::array()), HasSubstr("/runs is a list, legal is an array of at least one run"));
  EXPECT_THAT(changed("/runs/0/seed", "0"), HasSubstr("/runs/0/seed"));
  EXPECT_THAT(changed("/records", Json::object()), HasSubstr("/records is an object, legal is a list"));
  EXPECT_THAT(changed("/bench", "fast"), HasSubstr("/bench is "));
  const auto classes = [&](Json by_class) { return changed("/records/0/seeds_by_class", std::move(by_class)); };
  EXPECT_EQ(classes(Json::object()), "");
  EXPECT_THAT(classes({{"leak", {{3, 3}}}}), HasSubstr("the seeds of 12 cases of pass, not of 11"));
  EXPECT_THAT(classes({{"leak", {{12, 12}}}}), HasSubstr("legal is seeds of the record"));
  EXPECT_THAT(classes({{"leak", {{3, 3}}}, {"error", {{2, 4}}}}), HasSubstr("seeds of no other class"));
  EXPECT_THAT(classes({{"leak", {{4, 3}}}}), HasSubstr("[first seed, last seed]"));
  EXPECT_THAT(classes({{"pass", {{0, 11}}}}), HasSubstr("there is \"pass\""));
  EXPECT_THAT(classes(Json::array()), HasSubstr("an object"));
  Json report = report_json();
  report["records"][3]["figures"]["o"].erase("bias");
  EXPECT_THAT(refused(report), HasSubstr("/records/3/figures/o has no \"bias\""));
}

TEST(document, a_file_that_is_none_is_named) {
  EXPECT_THAT(complaint([] { read_document("no/such.json"); }), HasSubstr("must be a regular file"));
  EXPECT_THAT(complaint([] { read_document("/"); }), HasSubstr("must be a regular file"));
}

}  // namespace
}  // namespace flashproof::compare
