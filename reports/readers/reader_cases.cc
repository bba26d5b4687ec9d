#include "reports/readers/reader_cases.h"

#include <stdexcept>
#include <vector>

#include "kernels/plugin.h"
#include "kernels/plugin/description.h"
#include "properties/generators/family.h"
#include "reference/bound/declare/arithmetic_json.h"
#include "reference/bound/declare/profile.h"
#include "reference/error/semantics/semantics_json.h"
#include "reference/problem/case.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/text.h"
#include "reports/compare/policy.h"
#include "reports/compare/speed/speed.h"
#include "reports/compare/views/document.h"
#include "reports/ledger/against.h"
#include "reports/ledger/text.h"
#include "reports/plugin/before.h"
#include "reports/plugin/declared_by.h"
#include "reports/record/json_at.h"
#include "reports/record/merge.h"
#include "reports/record/packed_text.h"
#include "reports/record/test/swept_report.h"
#include "reports/traffic/traffic.h"
#include "reports/views/html/html.h"

namespace flashproof {
namespace {

/// The first entries of a ledger: a whole one is a megabyte.
std::string small_ledger() {
  Ledger ledger = read_ledger(FLASHPROOF_LEDGER);
  ledger.entries.resize(2);
  return ledger_text(ledger);
}

/// What `report` makes of a few cases of a kernel of each kind, one that passes and one that fails.
const std::string& small_report() {
  static const std::string text = [] {
    const Filters some{{"softmax.safe.hardened", "merge.broken.misprinted_lse", "attention_backward.broken.delta*"},
                       {"normal"},
                       {"f32"}};
    return report_of(some, 0, 1);
  }();
  return text;
}

const std::string& packed_report() {
  static const std::string text = json_text(read_report_text(small_report(), "small"));
  return text;
}

/// The lines that "state" holds, and a report that holds others: what is mutated in them is seen by no checksum.
std::string state_of(const std::string& report) {
  return unpacked_text(parse_json(report, "file")["state"].get<std::string>(), 1 << 30);
}
void read_state(const std::string& state) {
  nlohmann::json report = parse_json(packed_report(), "file");
  report["state"] = packed_text(state);
  read_report_text(report.dump(), "file");
}

void merge_file(const std::string& text) {
  KernelNames names;
  merge_reports({file_of(text)}, {}, names);
}

const std::string kBench = R"({"context": {"date": "2026-01-01", "host_name": "h"}, "benchmarks": [
  {"name": "a/1", "run_name": "a/1", "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1,
   "iterations": 10, "real_time": 1.5, "cpu_time": 1.25, "time_unit": "us"}]})";
const std::string kPolicy = "[[rule]]\nname = \"b\"\nkernel = [\"softmax.*\"]\nmax_ratio = 1\nno_missing = true\n";
const std::string kWaiver = "[[waiver]]\nid = \"b/x\"\nreason = \"words\"\nexpires = 2026-12-31\n";
const std::string kTraffic =
    "kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write\n"
    "softmax.safe.hardened,f32,4,8,128,128,256,128\n";

// A description with everything that text can say in it; its object of arithmetic and of semantics are read by themselves, too.
const std::string kSemantics = R"({"preset": "flash-attention-2", "lse_base": "2", "empty_o": "nan"})";
const std::string kArithmetic =
    R"({"preset": "fa2_sm80", "block": 128, "underflow": "flush", "weights": {"format": "bf16"}})";
const std::string kDescription =
    R"({"formats": ["f16", "bf16"], "takes": ["causal", "key_length", "window"], "arithmetic": )" + kArithmetic +
    R"(, "semantics": )" + kSemantics +
    R"(, "limits": {"d": [1, 128], "k_length": [1, 512, 8]}, "strides": "rows", "alignment": 16,
 "returns": "both", "deterministic": true, "overflow": "saturate"})";
const std::string kGradient =
    R"({"formats": ["f16"], "takes": ["causal"], "arithmetic": {"preset": "fa2_sm80", "exp_error": 0.001}})";
const std::string kDeclare =
    "semantics = \"flash-attention-2\"\nformats = [\"f16\"]\n[kernel.\"attention.row.mine\"]\n"
    "arithmetic = { preset = \"fa2_sm80\", underflow = \"flush\" }\nlimits = { d = [1, 128] }\n";
constexpr Format kF32[] = {Format::f32};

PluginEntry entry_of(const std::string& description, int problem = FLASHPROOF_ATTENTION) {
  const char* const id = problem == FLASHPROOF_ATTENTION ? "attention.row.mine" : "attention_backward.row.mine";
  return {id, problem, FLASHPROOF_CPU, description, true};
}

/// An earlier run, compared with what explains the kernel now: the bounds of both declarations on some cases.
std::string before_sample() {
  return R"({"outcomes": [{"kernel": "attention.deferred.hardened", "format": "f32",
 "suggestion": "\"reduction\": \"chunk_deferred\", \"weights\": {\"format\": \"f16\"}"}]})";
}
void read_before(const std::string& text) {
  static const Kernel kernel = [] {
    Kernel one = *find_kernel("attention.deferred.hardened");
    one.formats = kF32;
    return one;
  }();
  PluginReport report;
  report.outcomes.push_back({.kernel = &kernel, .suggestion = R"("reduction": "chunk_deferred")"});
  const std::vector<std::string> changes = Before(file_of(text)).changes(report);
  if (text == before_sample() && (changes.size() != 1 || changes[0].find(" bound") == std::string::npos)) {
    throw std::logic_error("the sample is not compared");
  }
  for (const std::string& change : changes) {
    if (change != one_line(change)) throw std::logic_error(change);
  }
}

void read_declare(const std::string& text) {
  DeclaredBy declared(file_of(text));
  describe(entry_of(declared("attention.row.mine", kDescription)));
}

/// What the library says, with fields of a file put over it.
void read_declared(const std::string& description) {
  static DeclaredBy declared(file_of(kDeclare));
  describe(entry_of(declared("attention.row.mine", description)));
}

std::string witness_sample() {
  const std::vector<std::byte> bytes =
      format_witness({make_case(parse_case_spec("softmax:normal:1:rows=2,cols=3")), {}});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const ReaderCase kReaders[] = {
    {"ledger", small_ledger, [](const std::string& t) { parse_ledger(t, "file"); }},
    {"ledger_entry", [] { return entry_line(read_ledger(FLASHPROOF_LEDGER).entries.front()); },
     [](const std::string& t) { parse_entry_line(t); }},
    {"measured", small_report, [](const std::string& t) { measured_of(t, "file", "sm_90"); }},
    {"json", small_report, [](const std::string& t) { parse_json(t, "file"); }},
    {"report", small_report, [](const std::string& t) { compare::read_document(file_of(t)); }},
    {"merge", small_report, merge_file},
    {"packed", packed_report, [](const std::string& t) { compare::read_document(file_of(t)); }},
    {"state", [] { return state_of(packed_report()); }, read_state},
    {"html", small_report, [](const std::string& t) { html_text(read_report(file_of(t))); }},
    {"bench", [] { return kBench; }, [](const std::string& t) { compare::bench_of(parse_json(t, "file"), "file"); }},
    {"gate", [] { return kPolicy; }, [](const std::string& t) { compare::read_policy(file_of(t)); }},
    {"waivers", [] { return kWaiver; }, [](const std::string& t) { compare::read_waivers(file_of(t)); }},
    {"traffic", [] { return kTraffic; }, [](const std::string& t) { read_measured(file_of(t), Format::f32); }},
    {"profile", [] { return profile_json({}); }, [](const std::string& t) { load_profile(file_of(t)); }},
    {"witness", witness_sample, [](const std::string& t) { read_witness(file_of(t)); }},
    {"before", before_sample, read_before},
    {"declare", [] { return kDeclare; }, read_declare},
    {"declared", [] { return kDescription; }, read_declared},
    {"description", [] { return kDescription; }, [](const std::string& t) { describe(entry_of(t)); }},
    {"gradient", [] { return kGradient; },
     [](const std::string& t) { describe(entry_of(t, FLASHPROOF_ATTENTION_BACKWARD)); }},
    {"semantics", [] { return kSemantics; }, [](const std::string& t) { parse_semantics(t, ProblemKind::attention); }},
    {"arithmetic", [] { return kArithmetic; },
     [](const std::string& t) { parse_arithmetic(t, ProblemKind::attention, Format::f16); }},
};

}  // namespace

std::span<const ReaderCase> reader_cases() { return kReaders; }

}  // namespace flashproof
