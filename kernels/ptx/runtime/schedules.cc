#include "kernels/ptx/runtime/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace flashproof::cudart {
namespace {

using Copies = std::vector<std::vector<std::byte>>;

/// Of what the launch may write.
Copies copies_of(std::span<const ptx::Array> arrays) {
  Copies copies;
  for (const ptx::Array& array : arrays) {
    const auto* data = static_cast<const std::byte*>(array.data);
    copies.emplace_back(data, data + (array.writable ? array.bytes : 0));
  }
  return copies;
}

void restore(std::span<const ptx::Array> arrays, const Copies& copies) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (!copies[i].empty()) std::memcpy(arrays[i].data, copies[i].data(), copies[i].size());
  }
}

void compare(const ptx::Program& program, std::span<const ptx::Array> arrays, const Copies& copies,
             ptx::LaunchResult& result) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(arrays[i].data);
    const auto [here, there] = std::mismatch(copies[i].begin(), copies[i].end(), data);
    if (here == copies[i].end()) continue;
    result.findings.push_back(
        {fmt::format("byte {} of {} is another one when blocks and warps run from the last to the first",
                     here - copies[i].begin(), arrays[i].name),
         program.entry().line});
    return;
  }
}

}  // namespace

ptx::LaunchResult run_in_order(ptx::Program& program, ptx::Launch launch, Order order) {
  launch.last_first = order == Order::last;
  if (order != Order::both) return program.launch(launch);
  program.check(launch);
  const Copies before = copies_of(launch.arrays);
  ptx::LaunchResult first = program.launch(launch);
  if (!first.completed || !first.findings.empty()) return first;
  const Copies after = copies_of(launch.arrays);
  restore(launch.arrays, before);
  launch.last_first = true;
  ptx::LaunchResult last = program.launch(launch);
  last.printed = std::move(first.printed);  // once, in the usual order
  if (last.completed && last.findings.empty()) compare(program, launch.arrays, after, last);
  return last;
}

}  // namespace flashproof::cudart
