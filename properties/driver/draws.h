// Where the cases of a run come from. Of a forward kernel RapidCheck draws and shrinks them (shrinking_search.h). Of a kernel of the
// gradient they are drawn by seed, the covering array row by row; a finding is made smaller only where its witness is kept, since a
// candidate costs the truth of a forward problem.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/registry.h"
#include "properties/driver/property_run.h"
#include "properties/driver/shrinking_search.h"
#include "properties/generators/family.h"

namespace flashproof {

/// The cases of one family.
struct Draws {
  std::string_view family;
  /// Of one finding so many simpler problems are asked about, at most.
  int shrinks;
  /// Draws on, until `fails` is true of a case, and asks it about simpler ones; none: there are no more, or options.stop(), or `most`
  /// were drawn by this call and those before. Which cases are drawn does not depend on the calls' `most`.
  std::function<std::optional<FoundCase>(const std::function<bool(const Case&)>& fails, std::uint64_t most)> next;
};

/// `families`: those that serve the kernel's problem. The references must outlive the draws.
std::vector<Draws> draws_of(const Kernel& kernel, std::span<const Family* const> families,
                            const PropertyOptions& options);

}  // namespace flashproof
