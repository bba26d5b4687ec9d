#include "reports/record/read_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "reference/system/error.h"
#include "reference/system/text.h"
#include "reports/record/json_at.h"
#include "reports/record/packed_text.h"
#include "reports/record/read_record.h"
#include "reports/record/record_claims.h"
#include "reports/run/attachments.h"

namespace flashproof {
namespace {

using nlohmann::json;

Run read_run(const JsonAt& at) {
  Run run;
  Environment& e = run.environment;
  const std::pair<const char*, std::string*> texts[] = {{"compiler", &e.compiler}, {"cuda_compiler", &e.cuda_compiler},
                                                        {"flags", &e.flags},       {"revision", &e.revision},
                                                        {"cpu", &e.cpu},           {"gpu", &e.gpu},
                                                        {"date", &e.date},         {"command_line", &e.command_line}};
  for (const auto& [key, to] : texts) *to = at[key].text();
  e.tier = at["tier"].text_of({"quick", "default", "nightly"});
  e.executors = at["executors"].text_of({"cpu", "cuda", "cpu cuda", "ptx"});
  e.math = at["math"].text_of({"det", "native", "all"});
  if (!at["profile"].null()) e.profile = at["profile"].text();
  if (!at["partial"].null()) run.partial = at["partial"].text();
  e.seed = at["seed"].count();
  run.cases = at["cases"].count();
  run.kernel_runs = at["kernel_runs"].count();
  const JsonAt timing = at["timing"];
  RunTiming& t = run.timing;
  t.jobs = static_cast<int>(std::min<std::uint64_t>(timing["jobs"].count(), 1 << 20));
  const std::pair<const char*, double*> seconds[] = {{"wall_seconds", &t.wall},   {"case_seconds", &t.cases},
                                                     {"truth_seconds", &t.truth}, {"bound_seconds", &t.bound},
                                                     {"run_seconds", &t.run},     {"judge_seconds", &t.judge}};
  for (const auto& [key, to] : seconds) *to = timing[key].number();
  return run;
}

/// What the file blames for its improbable elements: this build may not know the kernel's arithmetic.
void read_blame(const JsonAt& list, Report& report, std::deque<std::string>& texts) {
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt entry = list.item(i);
    if (entry["what"].text() != "above_probable") continue;
    const auto is_record = [&](const Record& r) {
      return r.kernel->id == entry["kernel"].text() && info(r.format).name == entry["format"].text() &&
             name(r.executor) == entry["executor"].text() && name(r.kernel->math) == entry["math"].text() &&
             r.family == entry["family"].text();
    };
    const auto record = std::ranges::find_if(report.result.records, is_record);
    if (record == report.result.records.end()) entry.refuse("an entry about one of the records");
    const auto of_problem = parts(record->kernel->problem);
    const auto part = std::ranges::find(of_problem, entry["tensor"].text(), [](Part p) { return name(p); });
    if (part == of_problem.end()) entry["tensor"].refuse("an output of its problem");
    const ErrorWitness& w = (*record)[*part].probable_witness;
    const JsonAt assumption = entry["assumption"];
    const std::string_view key = texts.emplace_back(assumption["key"].text());
    report.blamed[blame_key(*record, *part, w.case_index, w.index)] = {key,
                                                                       texts.emplace_back(assumption["text"].text())};
  }
}

void read_causes(const JsonAt& list, Report& report) {
  for (std::size_t i = 0; i < list.items(); ++i) {
    const JsonAt at = list.item(i);
    Cause& cause = report.causes[at["kernel"].text()].emplace_back();
    const std::pair<const char*, std::string*> texts[] = {{"id", &cause.id},
                                                          {"sentence", &cause.sentence},
                                                          {"condition", &cause.condition},
                                                          {"other_sentence", &cause.other_sentence},
                                                          {"witness", &cause.witness}};
    for (const auto& [key, to] : texts) *to = at[key].text();
    for (std::size_t k = 0; k < at["others"].items(); ++k) cause.others.push_back(at["others"].item(k).text());
    const std::pair<const char*, std::uint64_t*> counts[] = {
        {"cases", &cause.cases}, {"failing_cases", &cause.failing_cases}, {"elements", &cause.elements}};
    for (const auto& [key, to] : counts) *to = at[key].count();
    cause.confident = at["confident"].flag();
  }
}

std::vector<Undecided> read_sentences(const JsonAt& list) {
  std::vector<Undecided> sentences;
  sentences.reserve(list.items());
  for (std::size_t i = 0; i < list.items(); ++i) {
    sentences.push_back({list.item(i)["kernel"].text(), list.item(i)["why"].text()});
  }
  return sentences;
}

/// A hundred times a default report's.
constexpr std::uint64_t kMostState = std::uint64_t{1} << 31;

/// One record a line.
json records_of_state(const JsonAt& state) {
  const std::string packed = state.text();
  std::string text;
  try {
    text = unpacked_text(packed, kMostState);
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", one_line(state.place()), e.what()));
  }
  if (text.ends_with('\n')) text.pop_back();
  std::ranges::replace(text, '\n', ',');
  return parse_json("[" + text + "]", state.place());
}

/// In the order of keys, in the report and in the document: files before the one sweep have those of the gradient last.
void sort_records(json& document, Report& report) {
  std::vector<Record>& records = report.result.records;
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](std::size_t a, std::size_t b) { return key_less(records[a], records[b]); };
  if (std::ranges::is_sorted(order, less)) return;
  std::ranges::sort(order, less);
  std::vector<Record> sorted;
  json written = json::array();
  for (const std::size_t i : order) {
    sorted.push_back(std::move(records[i]));
    written.push_back(std::move(document["records"][i]));
  }
  records = std::move(sorted);
  document["records"] = std::move(written);
}

/// Statistics of before (es5) have neither of the figures of a summary, and are written again in today's form.
void leave_out_new_figures(const json& document, json& again) {
  for (std::size_t i = 0; i < document["records"].size() && i < again["records"].size(); ++i) {
    const json& told = document["records"][i]["figures"];
    for (auto& [part, figures] : again["records"][i]["figures"].items()) {
      if (!told.contains(part) || !told[part]["state"].get_ref<const std::string&>().starts_with("es5,")) continue;
      figures.erase("max_budget");
      figures.erase("max_resolved_ulp");
      figures["state"] = told[part]["state"];
    }
  }
}

/// Every figure is written again from what was read; the first that differs is named.
void require_same(json document, const Report& report, const std::string& file) {
  const bool packed = document["schema"] == kReportSchema;
  json again = json::parse(json_text(report, packed ? Spelled::summary : Spelled::out));
  if (packed) {  // two versions of zstd pack "state" differently
    document.erase("state");
  } else {
    leave_out_new_figures(document, again);
  }
  for (const char* added : {"causes", "undecided", "narrow"}) {  // reports of before lack them
    if (!document.contains(added)) again.erase(added);
  }
  if (again == document) return;
  const json difference = json::diff(document, again).at(0);
  const std::string path = difference["path"];
  const std::string what = difference["op"] == "remove" ? "it should not be there"
                           : difference["op"] == "add"
                               ? "it is missing"
                               : "the file's own statistics give " + difference["value"].dump(-1, ' ', true);
  throw UsageError(fmt::format("{}: {}: {}", one_line(file), printable(path, 200), printable(what, 200)));
}

void require_schema(const JsonAt& at, const std::string& file) {
  const std::string schema = at["schema"].text();
  if (schema == kReportSchema || schema == kSpelledOutSchema) return;
  throw UsageError(fmt::format("{}: schema {}, legal is \"{}\" or \"{}\"; make the report again with this version",
                               one_line(file), quote(schema), kReportSchema, kSpelledOutSchema));
}

Report report_of(json document, const std::string& file, KernelNames& names) {
  const JsonAt at(document, file);
  require_schema(at, file);
  const bool packed = document["schema"] == kReportSchema;
  Report report;
  const auto texts = std::make_shared<std::deque<std::string>>();
  report.owner = texts;
  const JsonAt runs = at["runs"], told = at["records"];
  if (runs.items() == 0) runs.refuse("one run or more");
  for (std::size_t i = 0; i < runs.items(); ++i) report.runs.push_back(read_run(runs.item(i)));
  const json kept = packed ? records_of_state(at["state"]) : json();
  const JsonAt records = packed ? JsonAt(kept, file, "/state") : told;
  if (records.items() != told.items()) told.refuse(fmt::format("the {} records of state", records.items()));
  for (std::size_t i = 0; i < records.items(); ++i) {
    report.result.records.push_back(read_record(records.item(i), names));
  }
  if (!packed) check_records(document, file);
  read_blame(at["investigate"], report, *texts);
  if (at.has("causes")) read_causes(at["causes"], report);
  if (at.has("undecided")) report.undecided = read_sentences(at["undecided"]);
  if (at.has("narrow")) report.narrow = read_sentences(at["narrow"]);
  report.faults = at["faults"].null() ? "" : checked_faults(at["faults"]);
  report.bench = at["bench"].null() ? "" : checked_bench(at["bench"]);
  if (packed) check_records(json::parse(json_text(report, Spelled::out)), file);
  sort_records(document, report);
  if (std::ranges::adjacent_find(report.result.records, same_key) != report.result.records.end()) {
    throw UsageError(one_line(file) + ": records: a key is there twice");
  }
  report.findings = findings_of(report.result.records);
  for (json& run : document["runs"]) run["timing"].erase("gradient_seconds");  // of files before the one sweep
  require_same(std::move(document), report, file);
  return report;
}

Report owning_names(json document, const std::string& file) {
  const auto names = std::make_shared<KernelNames>();
  Report report = report_of(std::move(document), file, *names);
  using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
  report.owner = std::make_shared<Both>(report.owner, names);
  return report;
}

}  // namespace

Report read_report(const std::string& file, KernelNames& names) { return report_of(read_json(file), file, names); }
Report read_report(const std::string& file) { return owning_names(read_json(file), file); }
Report read_report_text(std::string_view text, const std::string& name) {
  return owning_names(parse_json(text, name), name);
}

}  // namespace flashproof
