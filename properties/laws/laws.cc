#include <algorithm>

#include "properties/laws/law.h"
#include "properties/laws/list.h"

namespace flashproof {

std::span<const Law> laws() {
  static const Law kLaws[] = {within_bound(), class_matches_semantics(), outputs_fully_written()};
  return kLaws;
}

const Law* find_law(std::string_view name) {
  const auto all = laws();
  const auto found = std::ranges::find(all, name, &Law::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace flashproof
