// What a PTX file holds and what of it can be executed here, for people.
#pragma once

#include <string>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// Every entry with its parameters, what its launch needs, and each instruction that cannot be executed, by file and line.
std::string listing(const Module& module);

}  // namespace flashproof::ptx
