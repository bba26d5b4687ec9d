// Which parameters of an entry are addresses: PTX has the same type for them as for counts of 64 bits.
#pragma once

#include <cstddef>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// Declared with .ptr; or loaded into a register that nothing else writes, and an access or a cvta has it for its address. What an
/// entry adds to first is not followed.
bool is_address(const Entry& entry, std::size_t parameter);

}  // namespace flashproof::ptx
