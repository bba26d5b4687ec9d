// The ledger as JSON, and what other files measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "fuzz/input/mutation.h"
#include "reference/problem/backward_witness.h"
#include "reference/problem/error.h"
#include "reference/problem/strict_json.h"
#include "reference/problem/text.h"
#include "reports/attack/ledger.h"
#include "reports/ledger/worst.h"
#include "reports/record/record_claims.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "flashproof.worst/1";

template <class AnyJson>
double ratio_of(const AnyJson& json) {
  const double ratio = json.is_number() ? json.template get<double>() : std::nan("");
  if (!(ratio >= 0) || !std::isfinite(ratio)) throw UsageError("ratio: must be finite and at least 0");
  return ratio;
}

void check_case(const Measured& m) {
  if (is_backward_line(m.case_line)) {
    parse_backward_line(m.case_line);
  } else {
    parse_case_spec(m.case_line);
  }
  parse_mutations(m.mutations);
}

WorstEntry entry_of(const Json& json) {
  WorstEntry e;
  e.worst = {shown_as_it_is(json.at("kernel").get<std::string>(), "kernel"),
             json.at("format").get<std::string>(),
             json.at("architecture").get<std::string>(),
             ratio_of(json.at("ratio")),
             json.at("case").get<std::string>(),
             json.at("mutations").get<std::string>()};
  if (!parse_format(e.worst.format)) throw UsageError("format " + quote(e.worst.format) + ": unknown");
  if (!is_architecture(e.worst.architecture)) {
    throw UsageError("architecture " + quote(e.worst.architecture) + ": must be cpu, sm_NN or sm_NN.native");
  }
  check_case(e.worst);
  e.hash = json.at("sha1").get<std::string>();
  const bool hex = e.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex || (!e.hash.empty() && e.hash.size() != 40))
    throw UsageError("sha1: must be 40 lowercase hex digits, or empty");
  for (const Json& change : json.at("history")) {
    e.history.push_back(
        {ratio_of(change.at("ratio")), shown_as_it_is(change.at("reason").get<std::string>(), "reason")});
  }
  if (e.history.empty() || e.history.back().ratio != e.worst.ratio) {
    throw UsageError("history: must end with the ratio of the entry");
  }
  return e;
}

Json json_of(const WorstEntry& e) {
  Json history = Json::array();
  for (const WorstChange& c : e.history) history.push_back({{"ratio", c.ratio}, {"reason", c.reason}});
  return {{"kernel", e.worst.kernel}, {"format", e.worst.format},  {"architecture", e.worst.architecture},
          {"ratio", e.worst.ratio},   {"case", e.worst.case_line}, {"mutations", e.worst.mutations},
          {"sha1", e.hash},           {"history", history}};
}

using Best = std::map<std::tuple<std::string, std::string, std::string>, Measured>;

void offer(Best& best, Measured m) {
  auto [at, fresh] = best.try_emplace({m.kernel, m.format, m.architecture}, m);
  if (!fresh && m.ratio > at->second.ratio) at->second = std::move(m);
}

std::string architecture_of(const nlohmann::json& record, const std::string& gpu) {
  if (record.at("executor") == "cpu") return "cpu";
  if (gpu.empty()) throw UsageError("it has records made on a GPU: name it with --architecture, legal: sm_NN");
  return gpu + (record.at("math") == "native" ? ".native" : "");
}

/// Records that ran, did not fail and measured something.
void offer_records(Best& best, const nlohmann::json& records, const std::string& gpu) {
  for (const auto& r : records) {
    const std::string verdict = r.at("verdict");
    const auto& ratio = r.at("max_ratio");
    if (verdict == "fail" || verdict == "inconclusive" || !ratio.is_number() || !(ratio.get<double>() >= 0)) continue;
    if (!r.at("witness").is_object()) continue;
    offer(best, {shown_as_it_is(r.at("kernel").get<std::string>(), "kernel"), r.at("format"), architecture_of(r, gpu),
                 ratio_of(ratio), r.at("witness").at("case"), ""});
  }
}

}  // namespace

bool is_architecture(std::string_view text) {
  if (text == "cpu") return true;
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  if (text.ends_with(".native")) text.remove_suffix(7);
  if (text.ends_with('a')) text.remove_suffix(1);
  return text.size() >= 2 && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string worst_text(const WorstLedger& ledger) {
  Json json{{"schema", kSchema},
            {"ratio",
             "|error| / (bound + rounding into the storage format) of the worst element that a run of this kernel, "
             "format and architecture had within its bound"},
            {"sha1", "of the witness file of the case, without notes"},
            {"entries", Json::array()}};
  for (const WorstEntry& e : ledger.entries) json["entries"].push_back(json_of(e));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

WorstLedger parse_worst(std::string_view text, const std::string& name) {
  WorstLedger ledger;
  try {
    const Json json = strict_json<Json>(text);
    if (json.at("schema") != kSchema) throw UsageError(fmt::format("schema: must be {}", kSchema));
    for (const Json& e : json.at("entries")) {
      WorstEntry entry = entry_of(e);
      const auto key = [](const WorstEntry& x) {
        return std::tie(x.worst.kernel, x.worst.format, x.worst.architecture);
      };
      if (!ledger.entries.empty() && !(key(ledger.entries.back()) < key(entry))) {
        throw UsageError("entries must be sorted by kernel, format and architecture, none twice");
      }
      ledger.entries.push_back(std::move(entry));
    }
  } catch (const Json::exception& e) {
    throw UsageError(name + ": " + json_complaint(e.id, e.what()));
  } catch (const UsageError& e) {
    throw UsageError(name + ": " + e.what());
  }
  return ledger;
}

WorstLedger read_worst(const std::filesystem::path& path, bool may_be_missing) {
  std::error_code error;
  if (may_be_missing && !std::filesystem::exists(path, error) && !error) return {};
  return parse_worst(read_ledger_file(path), one_line(path.string()));
}

std::vector<Measured> measured_of(std::string_view text, const std::string& name, const std::string& gpu) {
  Best best;
  try {
    const auto json = strict_json<nlohmann::json>(text);
    const std::string schema = json.at("schema");
    if (schema == kReportSchema) {
      check_records(json, name);
      offer_records(best, json.at("records"), gpu);
    } else if (schema == "flashproof.ledger/1") {
      for (const LedgerEntry& e : parse_ledger(text, name).entries) {
        offer(best, {e.kernel, std::string(info(e.format).name), "cpu", e.best.ratio, to_string(e.origin.spec),
                     to_text(e.origin.mutations)});
      }
    } else {
      throw UsageError("schema " + quote(schema) + ": must be " + quote(kReportSchema) + " or an attack ledger's");
    }
  } catch (const Json::exception& e) {
    throw UsageError(name + ": " + json_complaint(e.id, e.what()));
  } catch (const UsageError& e) {
    const std::string what = e.what();
    throw UsageError(what.starts_with(name + ":") ? what : name + ": " + what);
  }
  std::vector<Measured> list;
  for (auto& [key, m] : best) list.push_back(std::move(m));
  return list;
}

}  // namespace flashproof
