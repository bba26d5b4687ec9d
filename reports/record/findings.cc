// Failing records: their witnesses on disk, how to run them again, and their groups for a table.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/simt/cpu/schedule.h"
#include "properties/generators/family.h"
#include "reference/problem/witness/witness.h"
#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWitnesses = "witnesses";
constexpr std::string_view kExtension = ".safetensors", kCudaSuffix = ".cuda", kNativeSuffix = ".native",
                           kNativeOnCpuSuffix = ".cpu_native", kPtxSuffix = ".ptx", kNativeAsPtxSuffix = ".ptx_native";

/// Could witness_name() have made this? The kernel may be one that is gone by now, so only its form counts: three names.
bool is_witness_name(std::string_view file) {
  if (!file.ends_with(kExtension)) return false;
  file.remove_suffix(kExtension.size());
  for (const std::string_view suffix :
       {kCudaSuffix, kNativeSuffix, kNativeOnCpuSuffix, kPtxSuffix, kNativeAsPtxSuffix}) {
    if (file.ends_with(suffix)) {
      file.remove_suffix(suffix.size());
      break;
    }
  }
  std::vector<std::string_view> parts;
  for (;;) {
    parts.push_back(file.substr(0, file.find('.')));
    if (parts.back().size() == file.size()) break;
    file.remove_prefix(parts.back().size() + 1);
  }
  const auto is_format = [](std::string_view name) {
    return std::any_of(std::begin(kStorageFormats), std::end(kStorageFormats),
                       [&](Format f) { return info(f).name == name; });
  };
  return parts.size() == 5 && is_format(parts[3]) && std::all_of(parts.begin(), parts.end(), is_name);
}

[[noreturn]] void fail_here(const fs::path& path, const std::error_code& error) {
  throw InfrastructureError(fmt::format("{}: {}", one_line(path.string()), error.message()));
}

/// Witnesses of an earlier run would be taken for this one's.
void remove_old_witnesses(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (is_witness_name(at->path().filename().string()) && fs::is_regular_file(at->symlink_status(ignored))) {
      old.push_back(at->path());
    }
  }
  if (error) fail_here(folder, error);
  for (const fs::path& path : old) {
    fs::remove(path, error);
    if (error) fail_here(path, error);
  }
}

}  // namespace

std::string witness_name(std::string_view kernel, Format format, std::string_view family, Executor executor,
                         Math math) {
  std::string_view suffix;
  if (executor == Executor::cuda) suffix = math == Math::native ? kNativeSuffix : kCudaSuffix;
  if (executor == Executor::cpu && math == Math::native) suffix = kNativeOnCpuSuffix;
  if (executor == Executor::ptx) suffix = math == Math::native ? kNativeAsPtxSuffix : kPtxSuffix;
  return fmt::format("{}.{}.{}{}{}", kernel, info(format).name, family, suffix, kExtension);
}

void remove_old_findings(const fs::path& out) {
  std::error_code error;
  if (fs::is_directory(out / kWitnesses, error)) remove_old_witnesses(out / kWitnesses);
}

std::vector<Finding> write_findings(const Plan& plan, std::vector<Record>& records, const fs::path& out) {
  const fs::path folder = out / kWitnesses;
  std::error_code error;
  for (Record& record : records) {
    if (record.verdict() != VerdictKind::fail) continue;
    Witness witness;
    try {
      witness.content = make_case(case_of(record, record.worst->seed));
    } catch (const UsageError&) {
      continue;
    }
    witness.notes = {{"kernel", std::string(record.kernel->id)},
                     {"executor", std::string(name(record.executor))},
                     {"math", std::string(name(record.kernel->math))},
                     {"schedule", simt::to_string(plan.schedule)},
                     {"verdict", to_string(Verdict{record.worst->verdict.kind, record.worst->verdict.failure, {}})}};
    const std::string file =
        witness_name(record.kernel->id, record.format, record.family, record.executor, record.kernel->math);
    fs::create_directories(folder, error);
    if (error) fail_here(folder, error);
    write_witness(folder / file, witness);
    record.worst->file = fmt::format("{}/{}", kWitnesses, file);
  }
  std::vector<Finding> findings = findings_of(records);
  for (Finding& f : findings) {
    if (!f.record->worst->file.empty()) f.witness = (out / f.record->worst->file).string();
  }
  return findings;
}

std::vector<Finding> findings_of(const std::vector<Record>& records) {
  std::vector<Finding> findings;
  for (const Record& record : records) {
    if (record.verdict() == VerdictKind::fail) {
      findings.push_back({&record, worst_case_line(record), ""});
    }
  }
  const auto rank = [](const Finding& f) {
    return f.record->kernel->form == Form::hardened ? 0 : f.record->kernel->form == Form::published ? 1 : 2;
  };
  std::sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : key_less(*a.record, *b.record);
  });
  return findings;
}

std::string replay_command(const Record& record) {
  if (!record.worst) return "";
  return replay_command(worst_case_line(record), record.executor, record.kernel->math) +
         fmt::format(" --kernel {}", record.kernel->id);
}

std::string replay_command(const std::string& target, Executor executor, Math math) {
  std::string command = "./flashproof replay " + shell_word(target);
  if (executor != Executor::cpu) command += fmt::format(" --exec {}", name(executor));
  if (math == Math::native) command += " --math native";
  return command;
}

std::string replay_command(const Finding& finding) {
  if (finding.witness.empty()) return replay_command(*finding.record);
  return replay_command(finding.witness, finding.record->executor, finding.record->kernel->math);
}

std::vector<FindingGroup> group_findings(const Report& report, Form form) {
  std::vector<FindingGroup> groups;
  for (const Finding& f : report.findings) {
    const Record& r = *f.record;
    if (r.kernel->form != form) continue;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const FindingGroup& g) {
      const Record& other = *g.first->record;
      return other.kernel == r.kernel && other.executor == r.executor && other.family == r.family;
    });
    if (group == groups.end()) group = groups.insert(groups.end(), FindingGroup{&f, "", 0, 0});
    group->formats += fmt::format("{}{}", group->formats.empty() ? "" : ",", info(r.format).name);
    group->fails += count_of(r, VerdictKind::fail);
    group->cases += r.cases;
  }
  return groups;
}

}  // namespace flashproof
