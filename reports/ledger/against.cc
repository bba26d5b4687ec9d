#include "reports/ledger/against.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/problem/error.h"
#include "reference/problem/strict_json.h"
#include "reference/problem/text.h"
#include "reports/ledger/text.h"
#include "reports/record/record_claims.h"
#include "reports/record/report.h"

namespace flashproof {
namespace {

using Json = nlohmann::json;

std::string architecture_of(const Json& record, const std::string& gpu) {
  if (record.at("executor") == "cpu") return "cpu";
  if (gpu.empty()) throw UsageError("it has records made on a GPU: name it with --architecture, legal: sm_NN");
  return gpu + (record.at("math") == "native" ? ".native" : "");
}

Format format_of(const Json& record) {
  const std::string text = record.at("format");
  if (const auto format = parse_format(text)) return *format;
  throw UsageError("format: " + quote(text) + ": must be one that the program knows, as f32");
}

/// Records that ran, did not fail and measured something.
void offer_records(Ledger& best, const Json& records, const std::string& gpu) {
  for (const Json& r : records) {
    const std::string verdict = r.at("verdict");
    const Json& ratio = r.at("max_ratio");
    if (verdict == "fail" || verdict == "inconclusive" || !ratio.is_number() || !(ratio.get<double>() >= 0)) continue;
    if (!r.at("witness").is_object()) continue;
    if (!std::isfinite(ratio.get<double>())) throw UsageError("max_ratio: must be finite and at least 0");
    best.offer({.kernel = checked_kernel(r.at("kernel").get<std::string>()),
                .format = format_of(r),
                .architecture = architecture_of(r, gpu),
                .best = {.ratio = ratio.get<double>()},
                .case_line = checked_case(r.at("witness").at("case").get<std::string>(), std::nullopt)});
  }
}

/// What nlohmann's exception says, in one short line that repeats no number of the file.
std::string complaint(const Json::exception& e) {
  constexpr int kNumberOverflow = 406;  // its text repeats the number, however long
  return e.id == kNumberOverflow ? "a number is beyond the range of a double" : printable(e.what(), 120);
}

void offer_report(Ledger& best, std::string_view text, const std::string& name, const std::string& gpu) {
  const Json json = strict_json<Json>(text);
  const std::string schema = json.at("schema");
  if (schema != kReportSchema) {
    throw UsageError("schema " + quote(schema) + ": must be " + quote(kReportSchema) +
                     ", or the file a ledger of this version");
  }
  check_records(json, name);
  offer_records(best, json.at("records"), gpu);
}

}  // namespace

std::vector<std::optional<AgainstKnown>> against(std::span<const LedgerEntry> measured, const Ledger& ledger) {
  std::vector<std::optional<AgainstKnown>> list;
  for (const LedgerEntry& m : measured) {
    const LedgerEntry* known = ledger.find(m.kernel, m.format, std::nullopt, m.architecture);
    list.emplace_back();
    if (known != nullptr) list.back() = {known->best.ratio, beats(m.best.ratio, known->best.ratio)};
  }
  return list;
}

std::string against_line(std::span<const LedgerEntry> measured, const Ledger& ledger) {
  if (measured.empty()) return "";
  const auto compared = against(measured, ledger);
  std::size_t fresh = 0, beaten = 0;
  std::string first;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!compared[i]) ++fresh;
    if (!compared[i] || !compared[i]->beaten) continue;
    ++beaten;
    if (!first.empty()) continue;
    first = fmt::format(", {} {} on {}: {:.6g} of its bound, known {:.6g}", measured[i].kernel,
                        info(measured[i].format).name, measured[i].architecture, measured[i].best.ratio,
                        compared[i]->ratio);
  }
  return fmt::format("ledger: {} of {} kernel x format x architecture beat the worst error/bound known{}{}\n", beaten,
                     measured.size(), first, fresh > 0 ? fmt::format("; of {} nothing is known", fresh) : "");
}

std::vector<LedgerEntry> measured_of(std::string_view text, const std::string& name, const std::string& gpu) {
  Ledger best;
  if (is_ledger(text)) {
    for (LedgerEntry& e : parse_ledger(text, name).entries) best.offer(of_whole_bound(std::move(e)));
    return best.entries;
  }
  try {
    offer_report(best, text, name, gpu);
  } catch (const Json::exception& e) {
    throw UsageError(name + ": " + complaint(e));
  } catch (const UsageError& e) {
    throw UsageError(name + ": " + e.what());
  }
  return best.entries;
}

}  // namespace flashproof
