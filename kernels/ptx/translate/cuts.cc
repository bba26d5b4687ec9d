#include "kernels/ptx/translate/cuts.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

namespace flashproof::ptx {
namespace {

/// Nothing may come between it and the one before: a carry is kept within a block.
bool takes_carry(const Instruction& instruction) {
  return instruction.form.starts_with("addc.") || instruction.form.starts_with("subc.") ||
         instruction.form.starts_with("madc.");
}

}  // namespace

void cut_long_code(Entry& entry) {
  std::vector<Label> labels;
  std::size_t next = 0, straight = 0;
  for (std::size_t i = 0; i < entry.instructions.size(); ++i, ++straight) {
    for (; next < entry.labels.size() && entry.labels[next].at <= i; ++next) {
      labels.push_back(std::move(entry.labels[next]));
      straight = 0;
    }
    if (straight < kMostStraight || takes_carry(entry.instructions[i])) continue;
    labels.push_back({fmt::format("cut before instruction {}", i), i,
                      entry.instructions[i].line});  // no label of a file has a blank
    straight = 0;
  }
  labels.insert(labels.end(), std::make_move_iterator(entry.labels.begin() + static_cast<std::ptrdiff_t>(next)),
                std::make_move_iterator(entry.labels.end()));
  entry.labels = std::move(labels);
}

}  // namespace flashproof::ptx
