#include "python/bindings/door_time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "properties/generators/family.h"

namespace nb = nanobind;

namespace flashproof::python {

double seconds_per_call(CallableDeclaration declaration, const std::string& line, std::uint64_t runs) {
  using Clock = std::chrono::steady_clock;
  const Case c = flashproof::make_case(parse_case_spec(line));
  CallableKernel kernel(std::move(declaration));
  const nb::gil_scoped_release unlocked;
  std::array<double, 7> rounds{};
  for (double& round : rounds) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < runs; ++i) flashproof::run(Kernel{kernel.declaration()}, c.problem);
    round = std::chrono::duration<double>(Clock::now() - begin).count() /
            static_cast<double>(std::max<std::uint64_t>(runs, 1));
  }
  std::ranges::sort(rounds);
  return rounds[rounds.size() / 2];
}

}  // namespace flashproof::python
