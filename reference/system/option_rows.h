// The rows of option_table().
#pragma once

#include <vector>

#include "reference/system/option_table.h"

namespace flashproof {

/// A command's options stand in the order of its help.
std::vector<OptionDeclaration> option_rows();

}  // namespace flashproof
