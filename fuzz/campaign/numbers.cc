#include "fuzz/campaign/numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuzz/campaign/content.h"
#include "reference/system/atomic_file.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr double kLeastSeconds = 1e-3;  // a rate over less is noise

double rate(std::uint64_t executions, double seconds) {
  return seconds < kLeastSeconds ? 0 : static_cast<double>(executions) / seconds;
}

fs::path file_of(const Finding& finding, const CampaignFolder& folder) {
  return folder.findings() / (finding_name(finding) + (finding.witness.empty() ? ".input" : ".safetensors"));
}

/// The lines that say where it is kept and how it is run again.
std::string kept_lines(const Finding& finding, const CampaignFolder& folder, const Description& description) {
  const Subject& s = finding.subject;
  const std::string file = file_of(finding, folder).string();
  if (!finding.witness.empty()) {
    // Of a pair the witness itself names both kernels.
    const bool pair = s.kernel.find('|') != std::string::npos;
    return fmt::format("  witness: {}\n  replay: ./flashproof replay {}{}{}\n", printable(file, 4096), shell_word(file),
                       s.kernel.empty() || pair ? "" : " --kernel " + shell_word(s.kernel),
                       s.executor == "cpu" ? "" : " --exec " + s.executor);
  }
  if (finding.what.starts_with("batch:")) {
    return fmt::format("  input:  {} (alone it does not show it)\n", printable(file, 4096));
  }
  if (!finding.input.empty()) {
    std::string line = shell_word(description.program);
    if (!s.kernel.empty()) line += " " + shell_word("--kernel=" + s.kernel);
    if (!s.format.empty()) line += " " + shell_word("--format=" + s.format);
    if (s.executor != "cpu") line += " --exec=" + s.executor;
    return fmt::format("  input:  {}\n  run:    {} {}\n", printable(file, 4096), line, shell_word(file));
  }
  const fs::path log = folder.log() / (finding_name(finding) + ".log");
  std::error_code error;
  return fs::exists(log, error) ? fmt::format("  log:    {}\n", printable(log.string(), 4096)) : "";
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string numbers_table(const Summary& numbers) {
  constexpr std::size_t kNarrowest = 7;  // "subject"
  std::size_t width = kNarrowest;
  for (const SubjectTotals& one : numbers.subjects) width = std::max(width, subject_text(one.subject).size());
  std::string text = fmt::format("{:<{}} {:>15} {:>9} {:>9} {:>8}  {}\n", "subject", width, "executions", "exec/s",
                                 "worst", "findings", "worst term");
  const auto row = [&](const std::string& what, std::uint64_t executions, double seconds,
                       const std::optional<Elite>& worst, std::uint64_t findings) {
    text += fmt::format("{:<{}} {:>15} {:>9} {:>9} {:>8}  {}\n", what, width, grouped(executions),
                        grouped(static_cast<std::uint64_t>(rate(executions, seconds))),
                        worst ? fmt::format("{:.4g}", worst->ratio) : "-", findings,
                        worst ? printable(worst->term + " " + worst->shape_class, 80) : "-");
  };
  for (const SubjectTotals& one : numbers.subjects)
    row(subject_text(one.subject), one.executions, one.seconds, one.worst, one.findings);
  row("all", numbers.executions, numbers.seconds, numbers.worst, numbers.findings);
  return text;
}

bool against_us(const Subject& subject, const std::vector<Listed>& listed) {
  const auto known =
      std::find_if(listed.begin(), listed.end(), [&](const Listed& one) { return one.kernel == subject.kernel; });
  return known == listed.end() || expected_right(*known);
}

std::string findings_text(const std::vector<Finding>& findings, const CampaignFolder& folder,
                          const Description& description) {
  std::string text;
  for (const Finding& f : findings) {
    text += fmt::format(
        "{} {} {}{}{}, {} hit{}\n", against_us(f.subject, description.listed) ? "FAIL" : "expected",
        subject_text(f.subject), printable(f.what, 80), f.term.empty() ? "" : " in " + printable(f.term, 120),
        f.ratio >= 0 ? fmt::format(", error/bound {:.4g}", f.ratio) : "", grouped(f.hits), f.hits == 1 ? "" : "s");
    if (!f.case_line.empty()) text += "  case:   " + printable(f.case_line, 400) + "\n";
    if (!f.detail.empty()) text += "  detail: " + legible(f.detail, 400) + "\n";
    if (!f.brief.empty()) text += "  brief:  " + printable(f.brief, 400) + "\n";
    text += kept_lines(f, folder, description);
  }
  return text;
}

void write_findings(const std::vector<Finding>& findings, const CampaignFolder& folder) {
  for (const Finding& f : findings) {
    const fs::path file = file_of(f, folder);
    const auto& bytes = f.witness.empty() ? f.input : f.witness;
    if (bytes.empty()) continue;
    if (read_regular(file, bytes.size()) != bytes) write_atomically(file, std::as_bytes(std::span(bytes)));
    std::error_code error;
    if (!f.witness.empty()) fs::remove(folder.findings() / (finding_name(f) + ".input"), error);
  }
}

}  // namespace flashproof
