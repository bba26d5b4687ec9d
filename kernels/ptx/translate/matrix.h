// The matrix unit as mma and wgmma use it: a product of 16 x 8 elements out of fragments of a warp.
#pragma once

#include <cstdint>

#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

/// Whether they are all lanes of a warp. False after a finding.
bool whole_warp(Context* context, std::uint32_t lanes, const Site& site);

/// Which of the two instructions: of 8-bit factors they are different units.
enum class MatrixUnit : std::uint8_t { warp, warpgroup };

/// d = a·b + c; registers of 32 lanes each, `halves` of 16 bytes of k: a has two registers for each, b one, c and d have four.
void multiply_fragments(MatrixUnit unit, MatrixOperation type, int halves, const std::uint32_t* a,
                        const std::uint32_t* b, const std::uint32_t* c, std::uint32_t* d);

}  // namespace flashproof::ptx
