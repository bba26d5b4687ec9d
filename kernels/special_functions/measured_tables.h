// The tables of a GPU from its own outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/special_functions/list.h"

namespace flashproof::special {

/// The kBinadeSize outputs of a binade of list.h.
using Outputs = std::function<std::vector<std::uint32_t>(const Binade& binade)>;

struct MeasuredTables {
  Tables tables = {};
  std::vector<std::string> unsolved;  // "rcp 17": segments that no coefficients explain; the model does not hold there
};

/// Every segment of every table; some seconds.
MeasuredTables measure_tables(const Outputs& outputs);

/// As C++, the contents of tables_sm_NN.inc.
std::string tables_source(const Tables& tables, const std::string& name, const std::string& measured_on);

}  // namespace flashproof::special
