// What a callable takes, by name: the features of problems.h, and what shapes alone ask for. A name that is missing refuses every
// problem that uses it, so that the families that draw it count as unsupported and not as failures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof::python {

/// Every legal name, those of Feature last.
std::vector<std::string_view> feature_names();

/// The Features among these names. Throws UsageError for a name that there is none of.
std::vector<Feature> features_among(std::span<const std::string> names);

/// Empty if the problem uses nothing that is missing from `taken` (Feature apart), else what, in one line.
std::string beyond_shape(const Problem& problem, std::span<const std::string> taken);

}  // namespace flashproof::python
