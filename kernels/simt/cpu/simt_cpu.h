// The CPU side of simt.h: the CUDA language as ordinary C++. Every thread of a block is a fiber; a collective hands the
// processor to the next runnable thread (executor.h says in which order).
#pragma once

#include "kernels/simt/cpu/cpu_collectives.h"
#include "kernels/simt/cpu/cpu_intrinsics.h"
#include "kernels/simt/cpu/cpu_launch.h"
#include "kernels/simt/cpu/cpu_memory.h"
#include "kernels/simt/cpu/cpu_types.h"
