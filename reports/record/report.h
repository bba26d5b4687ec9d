// A report: what one sweep found, in the three forms that people and programs read. All three are pure functions.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reference/error/assumption.h"
#include "reports/diagnose/cause/cause.h"
#include "reports/run/environment.h"
#include "reports/run/sweep.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// A failing record and how to see it again.
struct Finding {
  const Record* record = nullptr;
  std::string case_line;
  std::string witness;  // path; empty if the family cannot make the case any more
};

/// A kernel whose whole run is no pass, because too little of some output was decided, and why.
struct Undecided {
  std::string kernel, why;
};

struct Report {
  SweepResult result;
  const Plan* plan = nullptr;     // null: read from files
  std::vector<Finding> findings;  // hardened, published, then broken kernels
  std::vector<Run> runs;          // one, unless it was merged
  // JSON as it was read (attachments.h); empty: none.
  std::string faults, bench;
  std::string ledger = {};                                // against_line() of ledger/against.h
  std::map<std::string, std::vector<Cause>> causes = {};  // causes_of() of diagnose/failing_runs.h, by full_id()
  // Kernels whose whole run is no pass, because too little was decided, and declarations that excuse most input families, which are
  // findings: undecided_of() and narrow_declarations() of the hardened kernels, which a reader of the file cannot make again.
  std::vector<Undecided> undecided = {}, narrow = {};
  VerdictBlock block = {};  // report_block(): what every view begins with; without a sentence: none was made
  // Of a report read from files, which knows no arithmetic: what the files blame, by blame_key().
  std::map<std::string, Assumption> blamed = {};
  std::shared_ptr<const void> owner = {};  // of what the records point to, where nothing else is
};

/// Removes the witnesses that an earlier run left below `out`.
void remove_old_findings(const std::filesystem::path& out);
/// Every failing record's worst case, written below `out`/witnesses as
/// <kernel>.<format>.<family>[.cuda|.native|.cpu_native].safetensors.
/// The records name them afterwards, relative to `out`; the findings with it.
std::vector<Finding> write_findings(const Plan& plan, std::vector<Record>& records, const std::filesystem::path& out);
/// The same without writing; no witness is named: where those of a report from elsewhere lie is not known.
std::vector<Finding> findings_of(const std::vector<Record>& records);
/// `./flashproof replay <path>`, quoted for a shell where needed, with `--exec cuda` for a finding on the GPU; as that of its
/// record where no witness was written.
std::string replay_command(const Finding& finding);
std::string replay_command(const std::string& target, Executor executor, Math math);
/// The text as one word for a shell.
std::string shell_word(const std::string& text);
/// Of a record's worst case: its recipe on this kernel, the same wherever the report lies. "" if no case ran.
std::string replay_command(const Record& record);
/// <kernel>.<format>.<family>[.cuda|.native|.cpu_native].safetensors
std::string witness_name(std::string_view kernel, Format format, std::string_view family, Executor executor, Math math);

/// Formats of one kernel, executor and family together; the first one's witness stands for all of them.
struct FindingGroup {
  const Finding* first;
  std::string formats;  // "f32,bf16"
  std::uint64_t fails, cases;
};
std::vector<FindingGroup> group_findings(const Report& report, Form form);
/// What passed and yet looks odd: elements above their probable bound, or outputs that err one way (biased).
struct Investigation {
  const Record* record = nullptr;
  Part part = Part::o;
  bool bias = false;
  std::uint64_t elements = 0, of = 0;  // above the probable bound, of those judged; bias: of those it is the mean over
  double ratio = 0;                    // worst error/probable; |bias|/its limit
  ErrorWitness witness;                // not for a bias
  std::string case_line;               // the same
  Assumption assumption;               // the same
};
/// Of hardened and published kernels, the highest ratio first.
std::vector<Investigation> investigations(const Report& report);
/// Which element of which record: what Report::blamed is looked up by.
std::string blame_key(const Record& record, Part part, std::uint64_t seed, std::uint64_t index);

/// Formats of one kernel, executor, family and tensor together; the worst one stands for all of them.
struct InvestigationGroup {
  Investigation worst;
  std::string formats;  // "f32,bf16"
  std::uint64_t elements = 0, of = 0;
};
/// The highest ratio first.
std::vector<InvestigationGroup> group_investigations(const std::vector<Investigation>& list);
/// "4 of 960 elements of o above the probable bound, worst 1.3 of it"; "biased: mean error of o is ...".
std::string investigation_text(const InvestigationGroup& group);
/// "o[7] of CASE", and for the worst what is most likely broken, by its key; "" for a bias.
std::string investigation_place(const Investigation& investigation);
/// "90 elements above their probable bound in 3 of 396 kernel x format x family, 1 output biased".
std::string investigation_summary(const Report& report, const std::vector<Investigation>& list);
/// The assumptions that a list blames, each once, by key.
std::vector<Assumption> blamed_assumptions(const std::vector<Investigation>& list);

/// Elements of o whose bound took the linear-fractional form, and of how many.
struct Refined {
  std::uint64_t elements = 0, of = 0;
};
Refined refined_of(const std::vector<Record>& records);
/// One line for the summary; "" where nothing was bounded.
std::string refined_line(const std::vector<Record>& records);

/// How the rows of one kernel and family stand to the domain of their bound, formats and executors together, in the order
/// of records.
struct DomainLine {
  const Kernel* kernel = nullptr;
  std::string family;
  DomainStats domain;
};
std::vector<DomainLine> domain_lines(const std::vector<Record>& records);
/// Worth a line: rows outside, or one inside that comes within a factor 100 of a limit.
bool near_a_limit(const DomainStats& domain);
inline constexpr double kNearLimit = 0.01;
/// "12 of 300 rows outside: scores and ... (12, worst 3e38, limit 3.4e38)", "" if none is.
std::string outside_text(const DomainStats& domain);
/// "0.93 of the limit: scores and ... (3.1e38, limit 3.4e38)", "" where no row has a precondition.
std::string nearest_text(const DomainStats& domain);

/// Plain text for a terminal of `columns` columns.
std::string table_text(const Report& report, int columns, bool colour);
/// At most kMarkdownLimit bytes: the longest tables end early and say so.
std::string markdown_text(const Report& report);
inline constexpr std::size_t kMarkdownLimit = 65'000;  // GitHub shows 65,536 characters of a comment or a summary
/// packed: what one reads of every record, and "state", from which they are merged (schema/report-6.schema.json). out: every figure
/// of every record, seven times as long (schema/report-5.schema.json).
/// summary: packed without "state".
enum class Spelled : std::uint8_t { packed, summary, out };
/// report.json. Non-finite numbers are the strings "inf", "-inf", "nan".
std::string json_text(const Report& report, Spelled spelled = Spelled::packed);
/// Equal for records that measured the same cases alike: not of names, of paths, of a case's place in the plan, nor of what a
/// ledger beside it knew.
std::size_t measured_digest(const Record& record);
/// One run as one line of it.
std::string run_line(const Run& run);

/// `list kernels|families|laws --json`.
std::string list_json(std::string_view what);

std::uint64_t count_of(const Record& record, VerdictKind kind);
/// What no tier of the oracle decided, of every kernel.
struct Open {
  std::uint64_t elements = 0, runs = 0;
};
Open open_of(const std::vector<Record>& records);
/// Exit code 1: a hardened kernel failed; in a nightly run also anything open, because no theorem says that the search
/// for a decision ends, so a human has to look.
bool has_finding(const std::vector<Record>& records, bool nightly);
/// hardened: published and broken ones are expected to fail and are left out.
enum class Kernels : std::uint8_t { hardened, all };
/// Kernel by kernel, formats, executors and kinds of math apart. Exit code 4 where nothing else was found.
std::vector<Undecided> undecided_of(const std::vector<Record>& records, Kernels kernels);
/// Kernels whose declaration leaves most of the default families out of its domain (RunPower): findings.
std::vector<Undecided> narrow_declarations(const std::vector<Record>& records, Kernels kernels);
/// A line for each.
std::string undecided_text(const std::vector<Undecided>& undecided, std::string_view what);

/// "" or a line that says what is open.
std::string open_line(const std::vector<Record>& records, bool nightly);

}  // namespace flashproof
