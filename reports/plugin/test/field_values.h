// Test support: values worth declaring of every field of a declared arithmetic.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

struct FieldValue {
  nlohmann::ordered_json::json_pointer field;
  nlohmann::ordered_json value;
};

/// Of every field, at any depth: each enumerator, both truth values, the ends and middles of each range. Not all of them fit beside every
/// other field.
std::vector<FieldValue> field_values(ProblemKind problem);

}  // namespace flashproof
