// Profiles as JSON. A file may come from anywhere: every field is checked before it is used.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reference/bound/declare/profile.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/strict_json.h"
#include "reference/system/text.h"
#include "reference/system/text_place.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "flashproof.profile/1";
constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostEntries = 256;
constexpr int kDeepest = 6;  // profile, functions, function, regions, region, and one to spare

/// A value with the way to it, for messages.
struct Field {
  const Json& json;
  std::string path;

  [[noreturn]] void refuse(const std::string& legal) const { throw UsageError(where() + "legal: " + legal); }
  std::string where() const { return path.empty() ? "" : path + ": "; }

  Field at(const char* key) const {
    if (!json.is_object()) refuse("an object");
    const auto found = json.find(key);
    if (found == json.end()) throw UsageError(fmt::format("{}no field \"{}\"", where(), key));
    return {*found, path.empty() ? key : fmt::format("{}.{}", path, key)};
  }
  std::vector<Field> items() const {
    if (!json.is_array() || json.size() > kMostEntries) refuse(fmt::format("an array of at most {}", kMostEntries));
    std::vector<Field> list;
    list.reserve(json.size());
    for (std::size_t i = 0; i < json.size(); ++i) list.push_back({json[i], fmt::format("{}[{}]", path, i)});
    return list;
  }
  std::string text() const {
    constexpr std::size_t kLongest = 200;
    if (!json.is_string() || json.get_ref<const std::string&>().size() > kLongest) {
      refuse(fmt::format("a text of at most {} bytes", kLongest));
    }
    const auto& value = json.get_ref<const std::string&>();
    for (const char c : value) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) refuse("a text without control characters");
    }
    return value;
  }
  bool flag() const {
    if (!json.is_boolean()) refuse("true or false");
    return json.get<bool>();
  }
  std::uint64_t count(std::uint64_t most = std::uint64_t{1} << 53) const {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
      refuse(fmt::format("an integer in 0..{}", most));
    return json.get<std::uint64_t>();
  }
  /// A finite number, or where it says so "inf".
  double number(double least, bool or_inf) const {
    if (or_inf && json.is_string() && json.get_ref<const std::string&>() == "inf") {
      return std::numeric_limits<double>::infinity();
    }
    const double value = json.is_number() ? json.get<double>() : std::nan("");
    if (!std::isfinite(value) || value < least) {
      refuse(fmt::format("a number{}{}", least == 0 ? ", not negative" : "", or_inf ? ", or \"inf\"" : ""));
    }
    return value;
  }
  /// An f32 as the eight hexadecimal digits of its bits: no rounding on the way, NaN included.
  float bits() const {
    const std::string digits = text();
    if (digits.size() != 8 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
      refuse("eight hexadecimal digits, the bits of an f32");
    }
    return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16)));
  }
};

Json bits_of(float x) { return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(x)); }
Json number_of(double x) { return std::isfinite(x) ? Json(x) : Json("inf"); }

RegionFigure read_region(const Field& f) {
  RegionFigure r;
  r.name = f.at("name").text();
  r.low = f.at("low").bits();
  r.high = f.at("high").bits();
  if (!(r.low <= r.high)) f.refuse("low <= high");
  r.mirrored = f.at("mirrored").flag();
  r.relative = f.at("relative").flag();
  r.inputs = f.at("inputs").count(std::uint64_t{1} << 32);
  if (r.inputs == 0) f.at("inputs").refuse("an integer in 1..2^32: a region of no inputs certifies nothing");
  r.error = f.at("error").number(0, true);
  r.worst = f.at("worst").bits();
  r.bias = f.at("bias").number(-1e300, true);
  return r;
}

Json write_region(const RegionFigure& r) {
  return {
      {"name", r.name},           {"low", bits_of(r.low)}, {"high", bits_of(r.high)},     {"mirrored", r.mirrored},
      {"relative", r.relative},   {"inputs", r.inputs},    {"error", number_of(r.error)}, {"worst", bits_of(r.worst)},
      {"bias", number_of(r.bias)}};
}

FunctionProfile read_function(const Field& f) {
  FunctionProfile p;
  p.name = f.at("name").text();
  for (const Field& region : f.at("regions").items()) p.regions.push_back(read_region(region));
  p.above_one = f.at("above_one").count();
  p.falls = f.at("falls").count();
  p.largest_fall = f.at("largest_fall").number(0, true);
  p.lost_nans = f.at("lost_nans").count();
  p.invented_nans = f.at("invented_nans").count();
  p.exact_at_zero = f.at("exact_at_zero").flag();
  p.flushes_inputs = f.at("flushes_inputs").flag();
  p.flushes_results = f.at("flushes_results").flag();
  return p;
}

Json write_function(const FunctionProfile& p) {
  Json json{{"name", p.name},
            {"exact_at_zero", p.exact_at_zero},
            {"above_one", p.above_one},
            {"falls", p.falls},
            {"largest_fall", number_of(p.largest_fall)},
            {"lost_nans", p.lost_nans},
            {"invented_nans", p.invented_nans},
            {"flushes_inputs", p.flushes_inputs},
            {"flushes_results", p.flushes_results},
            {"regions", Json::array()}};
  for (const RegionFigure& region : p.regions) json["regions"].push_back(write_region(region));
  return json;
}

UnitProfile read_unit(const Field& f) {
  UnitProfile p;
  p.name = f.at("name").text();
  p.block = {.k = static_cast<int>(f.at("k").count(64)),
             .f = static_cast<int>(f.at("f").count(60)),
             .ofb = static_cast<int>(f.at("ofb").count(52))};
  p.c_last = f.at("c_last").flag();
  for (const Field& answer : f.at("answers").items()) {
    p.answers.push_back({answer.at("question").text(), answer.at("yes").flag(), answer.at("figure").text()});
  }
  p.random_steps = f.at("random_steps").count();
  p.random_mismatches = f.at("random_mismatches").count(p.random_steps);
  return p;
}

Json write_unit(const UnitProfile& p) {
  Json json{{"name", p.name},
            {"k", p.block.k},
            {"f", p.block.f},
            {"ofb", p.block.ofb},
            {"c_last", p.c_last},
            {"random_steps", p.random_steps},
            {"random_mismatches", p.random_mismatches},
            {"answers", Json::array()}};
  for (const Answer& a : p.answers) {
    json["answers"].push_back({{"question", a.question}, {"yes", a.yes}, {"figure", a.figure}});
  }
  return json;
}

Profile read_profile(const Field& f) {
  if (f.at("schema").text() != kSchema) f.at("schema").refuse(fmt::format("\"{}\"", kSchema));
  Profile p;
  p.gpu = {f.at("gpu").at("name").text(), f.at("gpu").at("compute_capability").text()};
  p.driver = f.at("driver").text();
  p.cuda = f.at("cuda").text();
  p.date = f.at("date").text();
  p.revision = f.at("revision").text();
  for (const Field& function : f.at("functions").items()) {
    p.functions.push_back(read_function(function));
    if (p.function(p.functions.back().name) != &p.functions.back()) function.refuse("every name once");
  }
  for (const Field& unit : f.at("units").items()) p.units.push_back(read_unit(unit));
  return p;
}

}  // namespace

Profile load_profile(const std::filesystem::path& path) {
  const std::string name = quote(path.string());
  const std::string text = [&] {
    try {
      return read_file(path, kMostBytes);
    } catch (const UsageError& e) {
      throw UsageError(std::string("profile ") + e.what());
    }
  }();
  try {
    const Json json = strict_json<Json>(text, kDeepest);
    return read_profile({json, ""});
  } catch (const UsageError& e) {
    throw UsageError("profile " + name + ": " + e.what());
  }
}

std::string profile_json(const Profile& p) {
  Json json{{"schema", kSchema},
            {"gpu", {{"name", p.gpu.name}, {"compute_capability", p.gpu.compute_capability}}},
            {"driver", p.driver},
            {"cuda", p.cuda},
            {"date", p.date},
            {"revision", p.revision},
            {"functions", Json::array()},
            {"units", Json::array()}};
  for (const FunctionProfile& function : p.functions) json["functions"].push_back(write_function(function));
  for (const UnitProfile& unit : p.units) json["units"].push_back(write_unit(unit));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flashproof
