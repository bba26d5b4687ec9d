#include "reports/traffic/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "kernels/run/observe.h"
#include "properties/generators/family.h"
#include "reference/system/error.h"
#include "reference/system/read_file.h"
#include "reference/system/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr const char* kHeader = "kernel,format,rows,cols,dram_read,dram_write,requested_read,requested_write";
constexpr std::size_t kFields = 8;

SoftmaxProblem normal_rows(Format format, std::int64_t rows, std::int64_t cols) {
  const std::map<std::string, std::string> keys = {{"rows", std::to_string(rows)},
                                                   {"cols", std::to_string(cols)},
                                                   {"chunk", std::to_string(cols)},
                                                   {"layout", "dense"},
                                                   {"format", std::string(info(format).name)}};
  auto problem = std::get<SoftmaxProblem>(make_case({ProblemKind::softmax, "normal", 0, keys}).problem);
  problem.row_length.clear();
  return problem;
}

std::array<std::string, kFields> fields_of(const std::string& line, const std::string& where) {
  std::array<std::string, kFields> fields;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t end = i + 1 < kFields ? line.find(',', at) : line.size();
    if (end == std::string::npos) throw UsageError(fmt::format("{}: {} fields, expected {}", where, i + 1, kFields));
    fields[i] = line.substr(at, end - at);
    at = end + 1;
  }
  return fields;
}

std::uint64_t number(const std::string& text, const std::string& where, const char* what, std::uint64_t least) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // exact as double
  const auto value = parse_u64(text);
  if (!value || *value < least || *value > kMost) {
    throw UsageError(fmt::format("{}: {} {}: must be {}..{}", where, what, quote(text), least, kMost));
  }
  return *value;
}

}  // namespace

std::string to_string(const ElementCount& count) {
  const auto term = [](int factor, const char* unit) {
    return factor == 1 ? std::string(unit) : fmt::format("{}{}", factor, unit);
  };
  std::string text = term(count.mn, "MN");
  if (count.m > 0) text += "+" + term(count.m, "M");
  return text;
}

std::span<const TrafficClaim> traffic_claims() {
  // Seed 001 prints the reads of the naive form, 5MN + 2M, and its total, 8MN (+ 4M): the rest is its writes.
  static constexpr TrafficClaim kClaims[] = {
      {"softmax.eager_safe", {5, 2}, {3, 2}, "seed 001, table \"comparison\" and introduction (8MN in all)"},
      {"softmax.three_pass", {3, 0}, {1, 0}, "seed 001, \"the three-pass baseline\""},
      {"softmax.fused_row", {1, 0}, {1, 0}, "seed 001, table \"comparison\" and introduction (2MN in all)"},
      {"softmax.online_two_pass", {2, 0}, {1, 0}, "seed 001, \"the two-pass tiled algorithm\""},
  };
  return kClaims;
}

const TrafficClaim* find_claim(std::string_view kernel) {
  const auto claims = traffic_claims();
  const auto found = std::ranges::find(claims, kernel.substr(0, kernel.rfind('.')), &TrafficClaim::algorithm);
  return found == claims.end() ? nullptr : &*found;
}

CountedTraffic count_traffic(const Kernel& kernel, Format format, std::int64_t rows, std::int64_t cols) {
  const Observation seen = observe(kernel, normal_rows(format, rows, cols), {.races = false, .traffic = true});
  CountedTraffic result;
  const auto mn = static_cast<double>(rows * cols);
  for (const simt::Traffic& traffic : seen.traffic) {
    if (traffic.name != "x" && traffic.name != "o" && traffic.name != "workspace") continue;
    result.reads += static_cast<double>(traffic.merged_loads) / mn;
    result.writes += static_cast<double>(traffic.merged_stores) / mn;
    result.distinct_reads += static_cast<double>(traffic.touched_loads) / mn;
    result.distinct_writes += static_cast<double>(traffic.touched_stores) / mn;
  }
  return result;
}

std::map<std::string, MeasuredTraffic> read_measured(const std::string& path, Format format) {
  constexpr std::uint64_t kMostBytes = 16 << 20;
  std::istringstream in(read_file(path, kMostBytes));
  std::map<std::string, MeasuredTraffic> measured;
  std::string line;
  std::getline(in, line);
  if (line != kHeader) throw UsageError(fmt::format("{}:1: the first line must be {}", one_line(path), kHeader));
  for (int n = 2; std::getline(in, line); ++n) {
    const std::string where = fmt::format("{}:{}", one_line(path), n);
    const auto fields = fields_of(line, where);
    if (find_kernel(fields[0]) == nullptr)
      throw UsageError(fmt::format("{}: unknown kernel {}", where, quote(fields[0])));
    const auto parsed = parse_format(fields[1]);
    if (!parsed) throw UsageError(fmt::format("{}: unknown format {}", where, quote(fields[1])));
    MeasuredTraffic m;
    m.rows = static_cast<std::int64_t>(number(fields[2], where, "rows", 1));
    m.cols = static_cast<std::int64_t>(number(fields[3], where, "cols", 1));
    const double unit = static_cast<double>(m.rows) * static_cast<double>(m.cols) * bytes_of(*parsed);
    const auto elements = [&](std::size_t field, const char* what) {
      return static_cast<double>(number(fields[field], where, what, 0)) / unit;
    };
    m.dram_reads = elements(4, "dram_read");
    m.dram_writes = elements(5, "dram_write");
    m.requested_reads = elements(6, "requested_read");
    m.requested_writes = elements(7, "requested_write");
    if (*parsed == format && !measured.emplace(fields[0], m).second) {
      throw UsageError(fmt::format("{}: {} a second time", where, fields[0]));
    }
  }
  return measured;
}

namespace {

/// Reads and writes side by side, in the order of the table's columns; the last four are the GPU's.
using TrafficCells = std::array<std::string, 10>;

TrafficCells cells_of(const Kernel& kernel, const CountedTraffic& counted,
                      const std::map<std::string, MeasuredTraffic>& measured) {
  const auto figure = [](double value) { return fmt::format("{:.3f}", value); };
  const TrafficClaim* const claim = find_claim(kernel.id);
  TrafficCells cells;
  cells.fill("-");
  if (claim != nullptr) cells[0] = to_string(claim->reads);
  if (claim != nullptr) cells[3] = to_string(claim->writes);
  cells[1] = figure(counted.reads);
  cells[2] = figure(counted.distinct_reads);
  cells[4] = figure(counted.writes);
  cells[5] = figure(counted.distinct_writes);
  if (const auto m = measured.find(std::string(kernel.id)); m != measured.end()) {
    cells[6] = figure(m->second.requested_reads);
    cells[7] = figure(m->second.dram_reads);
    cells[8] = figure(m->second.requested_writes);
    cells[9] = figure(m->second.dram_writes);
  }
  return cells;
}

/// Below the table: where a claim comes from, and what it is of these columns.
std::string claims_text(std::span<const Kernel* const> kernels, std::int64_t cols, std::size_t width) {
  std::string text;
  for (const Kernel* kernel : kernels) {
    const TrafficClaim* const claim = find_claim(kernel->id);
    if (claim == nullptr) continue;
    text += fmt::format("{}: claimed {} reads and {} writes ({:.3f} and {:.3f} here): {}\n", pad(kernel->id, width),
                        to_string(claim->reads), to_string(claim->writes), claim->reads.in_mn(cols),
                        claim->writes.in_mn(cols), claim->source);
  }
  return text;
}

}  // namespace

std::string traffic_table(std::span<const Kernel* const> kernels, Format format, std::int64_t rows, std::int64_t cols,
                          const std::map<std::string, MeasuredTraffic>& measured) {
  const bool gpu = !measured.empty();
  std::string text = fmt::format(
      "{} elements in units of MN; counted at M = {} rows, N = {} columns. lse, lengths and the chunk plan are left "
      "out.\n"
      "counted: x, o and workspace, a load that threads of a block share in one instruction once. distinct: every "
      "element once.\n",
      info(format).name, rows, cols);
  if (gpu) text += "requested, dram: the GPU's counters, before and behind its caches.\n";
  std::size_t width = 6;
  for (const Kernel* kernel : kernels) width = std::max(width, kernel->id.size());
  const auto row = [&](std::string_view kernel, const TrafficCells& cells) {
    text += pad(kernel, width);
    for (std::size_t i = 0; i < (gpu ? 10 : 6); ++i) text += "  " + pad_left(cells[i], i % 5 == 0 ? 8 : 9);
    text += '\n';
  };
  text += '\n';
  row("", {"reads", "", "", "writes", "", "", "reads", "", "writes", ""});
  row("kernel",
      {"claimed", "counted", "distinct", "claimed", "counted", "distinct", "requested", "dram", "requested", "dram"});
  std::string refused;
  bool any = false;
  for (const Kernel* kernel : kernels) {
    CountedTraffic counted;
    try {
      counted = count_traffic(*kernel, format, rows, cols);
    } catch (const UsageError& refusal) {
      if (kernels.size() == 1) throw;
      refused += fmt::format("left out: {}\n", refusal.what());
      continue;
    }
    any = true;
    row(kernel->id, cells_of(*kernel, counted, measured));
  }
  if (!any) throw UsageError(one_line(refused));
  if (!refused.empty()) text += '\n' + refused;
  if (const std::string claims = claims_text(kernels, cols, width); !claims.empty()) text += "\n" + claims;
  for (const auto& [id, m] : measured) {
    if (std::ranges::find(kernels, id, &Kernel::id) != kernels.end()) {
      text += fmt::format("{}: measured at M = {}, N = {}\n", pad(id, width), m.rows, m.cols);
    }
  }
  return text;
}

}  // namespace flashproof
