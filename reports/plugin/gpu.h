// Whether there is a GPU, asked by a process that will fork: CUDA does not survive that, so a child asks.
#pragma once

#include <string>

namespace flashproof {

/// `why`: why there is none.
bool any_gpu_elsewhere(std::string* why);

}  // namespace flashproof
