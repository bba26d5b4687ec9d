// Profiles: what is written is read back; a hostile file is refused in one line that names the field; a profile is of one
// GPU; what a native kernel declares is what the profile says.
#include "reference/bound/declare/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/system/error.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

RegionFigure region(std::string_view name, double error, bool relative = true) {
  return {.name = std::string(name), .low = -1, .high = 1, .relative = relative, .inputs = 100, .error = error};
}

Profile sample() {
  Profile p;
  p.gpu = {"Some GPU", "9.0"};
  p.driver = "1.2", p.cuda = "13.0", p.date = "2026-11-20", p.revision = "abc";
  p.functions = {
      {.name = std::string(kNativeExp2),
       .regions = {region(kNormalResults, 0x1p-22), region(kSubnormalResults, 0x1p-126, false)},
       .exact_at_zero = true,
       .flushes_results = true},
      {.name = std::string(kNativeLog),
       .regions = {region(kAwayFromOne, 0x1p-23), region(kBelowOne, 0x1p-22), region(kAroundOne, 0x1p-21, false)}},
      {.name = std::string(kNativeReciprocal), .regions = {region(kNormalResults, 0x1p-23)}},
      {.name = std::string(kNativeTanh), .regions = {region(kEverywhere, 0x1p-11, false)}}};
  p.functions[0].regions[0].worst = -0x1.234p-3F;
  p.functions[0].regions[0].bias = -1e-9;
  p.functions[0].falls = 7;
  p.units = {{.name = "mma", .block = kHopperF16, .answers = {{"cut", true, "1 -> 1"}}, .random_steps = 100}};
  return p;
}

class ProfileFile : public testing::Test {
 protected:
  fs::path write(const std::string& text, const std::string& name = "p.json") {
    fs::create_directories(folder_);
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string refusal(const std::string& text) {
    try {
      load_profile(write(text));
    } catch (const UsageError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      return e.what();
    }
    return "accepted";
  }
  const fs::path folder_ = fs::temp_directory_path() / ("flashproof_profile." + std::to_string(::getpid()));
};

TEST_F(ProfileFile, what_is_written_is_read_back) {
  const Profile p = sample();
  const Profile q = load_profile(write(profile_json(p)));
  EXPECT_EQ(profile_json(q), profile_json(p));
  EXPECT_EQ(q.gpu, p.gpu);
  EXPECT_EQ(q.function(kNativeExp2)->region(kNormalResults)->worst, -0x1.234p-3F);
  EXPECT_EQ(q.function(kNativeExp2)->falls, 7U);
  EXPECT_EQ(q.units.at(0).block, kHopperF16);
  EXPECT_EQ(q.function("none"), nullptr);
}

TEST_F(ProfileFile, infinite_errors_survive_and_are_refused_where_used) {
  Profile p = sample();
  p.functions[0].regions[0].error = INFINITY;
  const Profile q = load_profile(write(profile_json(p)));
  EXPECT_EQ(q.functions[0].regions[0].error, INFINITY);
  EXPECT_THROW(with_profile(Arithmetic{}, q), UsageError);
}

TEST_F(ProfileFile, hostile_files_are_refused_by_field) {
  const std::string good = profile_json(sample());
  const auto changed = [&](const char* pointer, const Json& value) {
    Json json = Json::parse(good);
    json[Json::json_pointer(pointer)] = value;
    return refusal(json.dump());
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(""), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[1"), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("json\": legal: an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("no field \"schema\""));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal(good + std::string(1 << 20, ' ')), HasSubstr("bytes, must be at most 1048576"));
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)), HasSubstr("no JSON"));
  EXPECT_THAT(changed("/schema", "flashproof.profile/2"), HasSubstr("schema"));
  EXPECT_THAT(changed("/gpu/name", std::string(300, 'x')), HasSubstr("gpu.name"));
  EXPECT_THAT(changed("/gpu/name", "a\nb"), HasSubstr("gpu.name"));
  EXPECT_THAT(changed("/gpu", 3), HasSubstr("gpu"));
  EXPECT_THAT(changed("/functions", "x"), HasSubstr("functions"));
  EXPECT_THAT(changed("/functions/0/falls", -1), HasSubstr("functions[0].falls"));
  EXPECT_THAT(changed("/functions/0/falls", 1.5), HasSubstr("functions[0].falls"));
  EXPECT_THAT(changed("/functions/0/exact_at_zero", 1), HasSubstr("functions[0].exact_at_zero"));
  EXPECT_THAT(changed("/functions/0/regions/0/error", -1e-9), HasSubstr("functions[0].regions[0].error"));
  EXPECT_THAT(changed("/functions/0/regions/0/error", "nan"), HasSubstr("functions[0].regions[0].error"));
  EXPECT_THAT(changed("/functions/0/regions/0/inputs", 0), HasSubstr("certifies nothing"));
  EXPECT_THAT(changed("/functions/0/regions/0/worst", "0x1"), HasSubstr("eight hexadecimal digits"));
  EXPECT_THAT(changed("/functions/0/regions/0/low", "7fc00000"), HasSubstr("low <= high"));
  EXPECT_THAT(changed("/functions/1/name", std::string(kNativeExp2)), HasSubstr("every name once"));
  EXPECT_THAT(changed("/units/0/k", 65), HasSubstr("units[0].k"));
  EXPECT_THAT(changed("/units/0/random_mismatches", 101), HasSubstr("units[0].random_mismatches"));
  EXPECT_THROW(load_profile(folder_ / "missing.json"), UsageError);
  EXPECT_THROW(load_profile(folder_), UsageError);
}

TEST_F(ProfileFile, is_of_one_gpu) {
  const Profile p = sample();
  EXPECT_NO_THROW(require_gpu(p, p.gpu));
  EXPECT_THROW(require_gpu(p, {"Some GPU", "8.0"}), UsageError);
  EXPECT_THROW(require_gpu(p, {"Another GPU", "9.0"}), UsageError);
  Profile older = p;
  older.date = "2025-01-01";
  write(profile_json(p), "new.json");
  write(profile_json(older), "old.json");
  EXPECT_EQ(find_profile(folder_, p.gpu).date, p.date);
  EXPECT_THROW(find_profile(folder_, {"Another GPU", "9.0"}), UsageError);
  EXPECT_THROW(find_profile(folder_ / "nowhere", p.gpu), UsageError);
}

TEST(Native, declares_what_the_profile_says) {
  const Arithmetic det{
      .reduction = Reduction::chunk_deferred, .exp_error = 1e-7, .log_error = 1e-7, .tanh_error = 1e-7};
  const Arithmetic native = with_profile(det, sample());
  EXPECT_EQ(native.exponent, Exponent::scaled_exp2);
  EXPECT_EQ(native.exp_error, 0x1p-22);
  EXPECT_EQ(native.log_error, 0x1p-22);
  EXPECT_EQ(native.log_absolute, 0x1p-21);
  EXPECT_EQ(native.tanh_error, 0x1p-11);
  EXPECT_EQ(native.reciprocal_error, 0) << "the ending divides";
  EXPECT_EQ(native.underflow, Underflow::flush);
  Arithmetic multiplies = det;
  multiplies.ending = Ending::multiply_reciprocal;
  multiplies.exponent = Exponent::fused;
  EXPECT_EQ(with_profile(multiplies, sample()).reciprocal_error, 0x1p-23);
  EXPECT_EQ(with_profile(multiplies, sample()).exponent, Exponent::fused);
}

TEST(Native, refuses_an_exponential_that_no_bound_covers) {
  const auto refused = [](auto change) {
    Profile p = sample();
    change(p);
    EXPECT_THROW(with_profile(Arithmetic{}, p), UsageError);
  };
  refused([](Profile& p) { p.functions[0].exact_at_zero = false; });
  refused([](Profile& p) { p.functions[0].above_one = 1; });
  refused([](Profile& p) { p.functions[0].lost_nans = 1; });
  refused([](Profile& p) { p.functions[0].invented_nans = 1; });
  refused([](Profile& p) { p.functions[0].regions[1].error = 0x1p-125; });
  refused([](Profile& p) { p.functions[0].regions.pop_back(); });
  refused([](Profile& p) { p.functions.erase(p.functions.begin()); });
  refused([](Profile& p) { p.functions[1].regions[2].error = 1; });
}

TEST(Native, refuses_an_error_of_the_other_kind) {
  const Arithmetic det{
      .reduction = Reduction::chunk_deferred, .tanh_error = 1e-7, .ending = Ending::multiply_reciprocal};
  int regions = 0;
  for (std::size_t f = 0; f < sample().functions.size(); ++f) {
    for (std::size_t r = 0; r < sample().functions[f].regions.size(); ++r) {
      Profile p = sample();
      RegionFigure& region = p.functions[f].regions[r];
      region.relative = !region.relative;
      std::string refusal = "accepted";
      try {
        with_profile(det, p);
      } catch (const UsageError& e) {
        refusal = e.what();
      }
      EXPECT_THAT(refusal, testing::HasSubstr("region \"" + region.name + "\": the error is"));
      EXPECT_THAT(refusal, testing::HasSubstr(region.relative ? "legal: absolute" : "legal: relative"));
      EXPECT_EQ(refusal.find('\n'), std::string::npos);
      ++regions;
    }
  }
  EXPECT_EQ(regions, 7);
}

TEST(Shipped, profiles_can_be_used) {
  int found = 0;
  const Arithmetic det{.reduction = Reduction::chunk_deferred, .tanh_error = 1, .ending = Ending::multiply_reciprocal};
  for (const auto& entry : fs::directory_iterator(FLASHPROOF_PROFILES)) {
    const Profile p = load_profile(entry.path());
    EXPECT_NO_THROW(with_profile(det, p)) << entry.path();
    ++found;
  }
  EXPECT_GE(found, 1);
}

}  // namespace
}  // namespace flashproof
