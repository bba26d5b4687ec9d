#include "reports/run/twin_compare.h"

#include <fmt/format.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "reference/system/error.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

void TwinRow::compare(const Output& cpu, const Output& cuda) {
  for (std::size_t i = 0; i < kPartCount; ++i) {
    const auto part = static_cast<Part>(i);
    if (!cpu[part].shape.empty() || !cuda[part].shape.empty()) compare(name(part), cpu[part], cuda[part]);
  }
}

void TwinRow::compare(std::string_view name, const Tensor& a, const Tensor& b) {
  if (a.format != b.format || a.shape != b.shape) return fault(std::string(name) + ": the shapes differ");
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const std::uint64_t x = a.bits(i), y = b.bits(i);
    const bool same = x == y || (std::isnan(decode(a.format, x)) && std::isnan(decode(b.format, y)));
    ++elements;
    equal += same ? 1 : 0;
    if (!same && first_text.empty()) {
      first_text = fmt::format("{}[{}]: cpu {} (0x{:x}), cuda {} (0x{:x})", name, i, long_number(decode(a.format, x)),
                               x, long_number(decode(b.format, y)), y);
    }
  }
}

void TwinRow::fault(const std::string& what) {
  ++faults;
  if (first_text.empty()) first_text = one_line(what);
}

void TwinRow::merge(const TwinRow& one, std::uint64_t case_index) {
  cases += one.cases, unsupported += one.unsupported, elements += one.elements, equal += one.equal,
      faults += one.faults;
  if (one.differing() && case_index < first_case) first_case = case_index, first_text = one.first_text;
}

std::string TwinRow::percent() const {
  if (elements == 0) return "–";
  if (equal == elements) return "100 %";
  // Never rounded up to 100.
  return fmt::format("{:.4f} %",
                     std::fmin(99.9999, 100.0 * static_cast<double>(equal) / static_cast<double>(elements)));
}

std::string TwinRow::serialize() const {
  return fmt::format("{} {} {} {} {} {}", cases, unsupported, elements, equal, faults, first_text);
}

TwinRow TwinRow::deserialize(const std::string& line) {
  TwinRow row;
  int end = 0;
  if (std::sscanf(line.c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &row.cases,
                  &row.unsupported, &row.elements, &row.equal, &row.faults, &end) != 5) {
    throw UsageError("twin row: five numbers expected");
  }
  row.first_text = line.substr(std::min(line.size(), static_cast<std::size_t>(end) + 1));
  return row;
}

}  // namespace flashproof
