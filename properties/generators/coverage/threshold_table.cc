#include "properties/generators/coverage/threshold_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/registry.h"
#include "kernels/thresholds.h"
#include "properties/generators/backward_case.h"
#include "properties/generators/coverage/dimensions.h"
#include "properties/generators/family.h"
#include "properties/generators/glob.h"

namespace flashproof {
namespace {

/// A line of the table that is still to be filled.
struct Open {
  const Kernel* kernel;
  const Dimension* dimension;
  Format format;
  ThresholdSides* sides;
};

const Dimension& dimension_of(const Kernel& kernel, const Threshold& threshold) {
  const auto all = dimensions(kernel.problem);
  const auto found = std::ranges::find(all, threshold.dimension, &Dimension::name);
  if (found == all.end()) throw std::logic_error(fmt::format("{}: no dimension {}", kernel.id, threshold.dimension));
  return *found;
}

void note(const Open& open, const Problem& problem) {
  const std::int64_t place = open.dimension->measure(problem) - open.sides->value + 1;
  if (place < 0 || place > 2) return;
  ThresholdSides::Side& side = open.sides->sides[place];
  if (side == ThresholdSides::taken) return;
  side = open.kernel->unsupported(problem).empty() ? ThresholdSides::taken : ThresholdSides::refused;
}

}  // namespace

std::vector<ThresholdSides> default_thresholds(std::string_view left_out) {
  std::vector<ThresholdSides> table;
  std::vector<Open> open;
  for (const Kernel& kernel : kernels()) {
    if (kernel.form == Form::broken) continue;
    for (const Threshold& threshold : thresholds()) {
      if (!glob_match(threshold.kernels, kernel.id)) continue;
      for (const Format format : kernel.formats) {
        if (threshold.bits && *threshold.bits != info(format).bits) continue;
        table.push_back({std::string(kernel.id), std::string(threshold.dimension), std::string(threshold.what),
                         std::string(info(format).name), threshold.value});
        open.push_back({&kernel, &dimension_of(kernel, threshold), format, nullptr});
      }
    }
  }
  for (std::size_t i = 0; i < open.size(); ++i) open[i].sides = &table[i];
  for (const Family& family : families()) {
    if (family.name == left_out) continue;
    for (const ProblemKind problem : kProblemKinds) {
      if (!family.serves(problem)) continue;
      for (std::uint64_t i = 0; i < family.cases(problem, kDefaultSeeds); ++i) {
        for (std::size_t f = 0; f < std::size(kStorageFormats); ++f) {
          if (!family.draws(i, kDefaultSeeds, f, std::size(kStorageFormats))) continue;
          const std::string format(info(kStorageFormats[f]).name);
          const auto made = drawn_shape({problem, std::string(family.name), i + 1, {{"format", format}}});
          if (!made) continue;
          for (const Open& line : open) {
            if (line.kernel->problem == problem && line.format == kStorageFormats[f]) note(line, *made);
          }
        }
      }
    }
  }
  return table;
}

std::string threshold_text(const std::vector<ThresholdSides>& table) {
  std::string text =
      "thresholds: - one less, = the size, + one more are drawn and taken; ! beyond a limit; . missing\n";
  const ThresholdSides* before = nullptr;
  for (const ThresholdSides& line : table) {
    if (before == nullptr || before->kernel != line.kernel) text += fmt::format("  {}\n", line.kernel);
    if (before == nullptr || before->kernel != line.kernel || before->what != line.what ||
        before->dimension != line.dimension || before->value != line.value) {
      text += fmt::format("    {:<14} {:>6}  {:<24}", line.dimension, line.value, line.what);
    } else {
      text.pop_back();
    }
    text += fmt::format(" {} ", line.format);
    for (int side = 0; side < 3; ++side) {
      text += line.sides[side] == ThresholdSides::taken     ? "-=+"[side]
              : line.sides[side] == ThresholdSides::refused ? '!'
                                                            : '.';
    }
    text += "\n";
    before = &line;
  }
  return text;
}

}  // namespace flashproof
