#include "python/bindings/door_time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "properties/generators/family.h"
#include "python/bindings/callable_kernel.h"
#include "python/bindings/values.h"

namespace flashproof::python {

void seconds_per_call(const Json& request, const Python& python) {
  using Clock = std::chrono::steady_clock;
  const Case c = flashproof::make_case(parse_case_spec(value<std::string>(request, "line")));
  const auto runs = value<std::uint64_t>(request, "runs");
  const Json declared{{"id", "door"},
                      {"problem", name(kind_of(c.problem))},
                      {"format", info(format_of(c.problem)).name},
                      {"returns", "both"},
                      {"takes", {"causal", "cross", "scale"}}};
  CallableKernel kernel(declared, python);
  std::array<double, 7> rounds{};
  for (double& round : rounds) {
    const auto begin = Clock::now();
    for (std::uint64_t i = 0; i < runs; ++i) flashproof::run(Kernel{kernel.declaration()}, c.problem);
    round = std::chrono::duration<double>(Clock::now() - begin).count() /
            static_cast<double>(std::max<std::uint64_t>(runs, 1));
  }
  std::ranges::sort(rounds);
  python.answer(rounds[rounds.size() / 2]);
}

}  // namespace flashproof::python
