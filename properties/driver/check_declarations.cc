#include "properties/driver/check_declarations.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/error.h"
#include "reference/system/shown_text.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

bool is_kernel_id(std::string_view id) {
  constexpr std::size_t kMax = 120;
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  };
  return !id.empty() && id.size() <= kMax && id.front() != '.' && std::ranges::all_of(id, legal);
}

}  // namespace

void check_declarations(std::span<const KernelDeclaration> kernels) {
  std::vector<std::string_view> ids;
  for (const KernelDeclaration& kernel : kernels) {
    if (!is_kernel_id(kernel.id)) {
      throw UsageError("kernel id " + quote(kernel.id) +
                       ": must be 1..120 characters of [A-Za-z0-9_.-], the first no dot");
    }
    if (kernel.formats.empty()) throw UsageError("kernel " + quote(kernel.id) + ": declares no format");
    if (!kernel.foreign && kernel.launch.index() != static_cast<std::size_t>(kernel.problem)) {
      throw UsageError("kernel " + quote(kernel.id) + ": its launch function does not take the arguments of a " +
                       std::string(name(kernel.problem)) + " problem");
    }
    ids.push_back(kernel.id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end()) throw UsageError("kernel " + quote(*twice) + ": declared twice, an id names one kernel");
}

}  // namespace flashproof
