#include "reports/compare/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/record/json_at.h"
#include "reports/record/record_claims.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

/// Beyond every run, and what the test of how often a kernel fails takes in milliseconds.
constexpr std::uint64_t kMostCases = 1'000'000'000;

constexpr const char* kSchema = "flashproof.report/5";

using Json = nlohmann::json;

void require_object(const JsonAt& field) {
  if (!field.value().is_object()) field.refuse("an object");
}

/// There, and not null.
bool given(const JsonAt& field, std::string_view key) { return field.has(key) && !field[key].null(); }

UlpOctaves octaves_of(const JsonAt& field) {
  UlpOctaves octaves;
  require_object(field);
  for (const auto& [key, value] : field.value().items()) {
    const JsonAt count = field[key];
    int octave = kExact;
    if (key != "zero") {
      const auto parsed = parse_integer(key);
      if (!parsed || *parsed < kLowestOctave || *parsed > kHighestOctave) {
        field.refuse(fmt::format("counts by \"zero\" or an octave in {}..{}; there is {}", kLowestOctave,
                                 kHighestOctave, quote(key)));
      }
      octave = static_cast<int>(*parsed);
    }
    if (count.count() > 0) octaves.counts[octave] = count.count();
  }
  return octaves;
}

TensorFigures figures_of(const JsonAt& field) {
  TensorFigures f;
  f.elements = field["elements"].count();
  f.finite_elements = field["finite_elements"].count();
  f.max_ratio = field["max_ratio"].number();
  f.max_ulp = field["max_ulp"].number();
  f.mean_abs = field["mean_abs"].number();
  f.rmse = field["rmse"].number();
  const JsonAt bias = field["bias"];
  f.bias = bias["mean"].number();
  f.bias_limit = bias["limit"].number();
  f.biased = bias["biased"].flag();
  f.bias_elements = bias["elements"].count();
  f.octaves = octaves_of(field["ulp_octaves"]);
  if (f.octaves.elements() != f.finite_elements) {
    field["ulp_octaves"].refuse(
        fmt::format("counts of all {} finite elements (they add up to {})", f.finite_elements, f.octaves.elements()));
  }
  return f;
}

WitnessOf witness_of(const JsonAt& field) {
  WitnessOf w;
  w.case_line = one_line(field["case"].text());
  w.verdict = one_line(field["verdict"].text());
  w.tensor = one_line(field["tensor"].text());
  w.index = field["index"].count();
  w.computed = field["computed"].number();
  w.exact = field["exact"].number();
  w.error = field["error"].number();
  w.ratio = field["ratio"].number();
  if (given(field, "replay")) w.replay = one_line(field["replay"].text());
  return w;
}

/// Of a recipe that a shell takes as it stands.
std::string replay_line(const Key& key, const WitnessOf& w) {
  const bool recipe = w.case_line.find(':') != std::string::npos &&
                      w.case_line.find_first_of(" '\"`$\\;&|<>(){}*?!#~\t") == std::string::npos;
  if (!recipe) return w.replay;
  std::string line = fmt::format("./flashproof replay {} --kernel {}", w.case_line, key.kernel);
  if (key.executor != "cpu") line += " --exec " + key.executor;
  if (key.math != "det") line += " --math " + key.math;
  return line;
}

ClassCounts classes_of(const JsonAt& record) {
  ClassCounts classes{};
  const auto read = [&](const JsonAt& counts, std::string_view except) {
    require_object(counts);
    for (const auto& [key, value] : counts.value().items()) {
      if (key == except) continue;
      const auto c = parse_case_class(key);
      if (!c) counts.refuse("counts by verdict and failure; there is " + quote(key));
      classes[static_cast<std::size_t>(*c)] += counts[key].count();
    }
  };
  read(record["counts"]["cases"], "fail");
  read(record["failures"]["cases"], "");
  return classes;
}

/// [[0, 11], [20, 20]] -> "0..11,20".
std::string seeds_of(const JsonAt& list) {
  std::string text;
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt range = list.item(i);
    if (range.items() != 2) range.refuse("[first seed, last seed]");
    const std::uint64_t first = range.item(0).count(), last = range.item(1).count();
    text += fmt::format("{}{}", i > 0 ? "," : "", first);
    if (last != first) text += fmt::format("..{}", last);
  }
  return text;
}

SeedSet seed_set_of(const JsonAt& list) {
  SeedSet set;
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt range = list.item(i);
    if (range.items() != 2 || range.item(0).count() > range.item(1).count()) range.refuse("[first seed, last seed]");
    set.add(SeedSet::Interval{range.item(0).count(), range.item(1).count()});
  }
  return set;
}

/// Those that pass are those of no class. The counts must be the sets'.
ClassSeeds class_seeds_of(const JsonAt& record, const ClassCounts& counts) {
  const JsonAt field = record["seeds_by_class"];
  require_object(field);
  ClassSeeds sets;
  SeedSet others;
  for (const auto& [key, value] : field.value().items()) {
    const auto c = parse_case_class(key);
    if (!c || *c == CaseClass::pass) field.refuse("seeds by verdict and failure, but for pass; there is " + quote(key));
    const SeedSet set = seed_set_of(field[key]);
    if (!others.intersection(set).empty()) field[key].refuse("seeds of no other class");
    others.merge(set);
    sets[static_cast<std::size_t>(*c)] = set;
  }
  const SeedSet all = seed_set_of(record["seeds"]);
  if (!others.without(all).empty()) field.refuse("seeds of the record");
  sets[static_cast<std::size_t>(CaseClass::pass)] = all.without(others);
  for (std::size_t i = 0; i < kCaseClasses; ++i) {
    if (sets[i].size() == counts[i]) continue;
    field.refuse(fmt::format("the seeds of {} cases of {}, not of {}", counts[i], name(static_cast<CaseClass>(i)),
                             sets[i].size()));
  }
  return sets;
}

/// Of what the record measured: not of its name, of paths, of a case's place in the plan (in `state`), nor of what a ledger
/// beside it knew.
std::size_t digest_of(const JsonAt& record) {
  Json json = record.value();
  // Which seeds are in which class is compared by itself: a report that does not say so yet measured no less.
  for (const char* other : {"kernel", "form", "defect", "ledger", "seeds_by_class"}) json.erase(other);
  if (auto figures = json.find("figures"); figures != json.end()) {
    for (auto& tensor : *figures) tensor.erase("state");
  }
  if (auto witness = json.find("witness"); witness != json.end() && witness->is_object()) {
    witness->erase("file");
    witness->erase("replay");
  }
  return std::hash<std::string>{}(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

RecordOf record_of(const JsonAt& field) {
  RecordOf r;
  const auto word = [&](const char* key) { return one_line(field[key].text()); };
  r.key = {word("kernel"), word("format"), word("executor"), word("math"), word("family")};
  r.cases = field["cases"].count();
  if (r.cases > kMostCases) field["cases"].refuse(fmt::format("at most {}", kMostCases));
  if (given(field, "seeds")) r.seeds = seeds_of(field["seeds"]);
  r.classes = classes_of(field);
  std::uint64_t sum = 0;
  for (const std::uint64_t n : r.classes) sum += n;
  if (sum != r.cases)
    field.refuse(fmt::format("a record whose case counts add up to its {} cases, not to {}", r.cases, sum));
  if (given(field, "seeds") && given(field, "seeds_by_class")) r.class_seeds = class_seeds_of(field, r.classes);
  if (given(field, "max_ratio")) r.max_ratio = field["max_ratio"].number();
  const JsonAt figures = field["figures"];
  require_object(figures);
  for (const auto& [tensor, value] : figures.value().items()) {
    r.figures[one_line(tensor)] = figures_of(figures[tensor]);
  }
  if (given(field, "witness")) {
    r.witness = witness_of(field["witness"]);
    r.witness->replay = replay_line(r.key, *r.witness);
  }
  r.digest = digest_of(field);
  return r;
}

RunOf run_of(const JsonAt& field) {
  RunOf run;
  run.seed = field["seed"].count();
  run.tier = one_line(field["tier"].text());
  run.revision = one_line(field["revision"].text());
  run.compiler = one_line(field["compiler"].text());
  run.gpu = one_line(field["gpu"].text());
  run.profile = given(field, "profile") ? one_line(field["profile"].text()) : "";
  if (given(field, "partial")) run.partial = one_line(field["partial"].text());
  return run;
}

}  // namespace

std::string Key::text() const { return fmt::format("{}/{}/{}/{}/{}", kernel, format, executor, math, family); }

std::string RecordOf::replay_of(std::uint64_t seed) const {
  if (!witness) return {};
  // PROBLEM:FAMILY:SEED:...
  const std::string& line = witness->case_line;
  const std::size_t family = line.find(':');
  const std::size_t begin = family == std::string::npos ? family : line.find(':', family + 1);
  const std::size_t at = witness->replay.find(line);
  if (begin == std::string::npos || at == std::string::npos) return witness->replay;
  const std::size_t end = std::min(line.find(':', begin + 1), line.size());
  std::string replay = witness->replay;
  return replay.replace(at + begin + 1, end - begin - 1, std::to_string(seed));
}

std::string Document::partial() const {
  for (const RunOf& run : runs) {
    if (!run.partial.empty()) return run.partial;
  }
  return {};
}

std::string Document::label() const {
  std::string text;
  for (const RunOf& run : runs) {
    std::string revision = run.revision.substr(0, 12);
    if (run.revision.ends_with("-dirty")) revision += "-dirty";
    const std::string one = fmt::format("{} (seed {}, {}{})", revision, run.seed, run.tier,
                                        run.gpu == "not used" || run.gpu == "none" ? "" : ", " + run.gpu);
    if (text.find(one) == std::string::npos) text += (text.empty() ? "" : " + ") + one;
  }
  return text;
}

Document document_of(const Json& json, const std::string& name) {
  const JsonAt top(json, name);
  if (!json.is_object() || !json.contains("schema") || !json["schema"].is_string()) {
    throw UsageError(fmt::format("{}: no report of flashproof: it has no \"schema\"; legal: {}", name, kSchema));
  }
  const std::string schema = top["schema"].text();
  if (schema != kSchema) {
    // The version is one digit so far: a longer one is later.
    const bool older = schema.starts_with("flashproof.report/") && schema.size() <= std::string_view(kSchema).size() &&
                       schema < kSchema;
    throw UsageError(fmt::format("{}: schema {}: must be {}{}", name, quote(schema), kSchema,
                                 older ? "; make the report again with a build that writes it" : ""));
  }
  Document document;
  document.name = name;
  const JsonAt runs = top["runs"];
  for (std::size_t i = 0; i < runs.items(); ++i) document.runs.push_back(run_of(runs.item(i)));
  if (document.runs.empty()) runs.refuse("an array of at least one run");
  const JsonAt records = top["records"];
  for (std::size_t i = 0; i < records.items(); ++i) {
    RecordOf r = record_of(records.item(i));
    const Key key = r.key;
    if (!document.records.emplace(key, std::move(r)).second) records.item(i).refuse("the only record of " + key.text());
  }
  if (given(top, "bench")) require_object(top["bench"]);
  if (given(top, "bench")) document.bench = top["bench"].value().dump();
  return document;
}

Document read_document(const std::string& file) {
  const Json json = read_json(file);
  const std::string name = printable(file, 200);
  Document document = document_of(json, name);
  check_records(json, name);
  return document;
}

}  // namespace flashproof::compare
