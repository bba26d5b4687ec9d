#include "reports/views/html/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashproof::html {

std::string Record::label() const { return math == "native" ? kernel + " native" : kernel; }

std::string Record::key() const { return fmt::format("{}/{}/{}/{}/{}", kernel, format, executor, math, family); }

std::optional<double> Record::max_ulp() const {
  std::optional<double> most;
  for (const Figure& f : figures) {
    if (f.tensor != "lse" && f.finite > 0) most = worse(most, f.max_ulp);
  }
  return most;
}

const Figure* Record::figure(std::string_view tensor) const {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.tensor == tensor; });
  return found == figures.end() ? nullptr : &*found;
}

UlpOctaves ulp_octaves(const Octaves& octaves) {
  UlpOctaves result;
  if (octaves.zero > 0) result.counts[kExact] = octaves.zero;
  for (const auto& [bin, n] : octaves.bins) result.counts[std::clamp(bin, kLowestOctave, kHighestOctave)] += n;
  return result;
}

std::optional<double> worse(std::optional<double> a, std::optional<double> b) { return is_worse(b, a) ? b : a; }

bool is_worse(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a && !b;
  return std::isnan(*a) ? !std::isnan(*b) : *a > *b;
}

std::size_t combined(const Counts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) return i;
  }
  return kUnsupported;
}

}  // namespace flashproof::html
