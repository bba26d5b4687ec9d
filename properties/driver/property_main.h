// The main program of a property test: every law over every input family, for the kernels that it is given. In a CMake
// project flashproof_add_kernel_test() writes the main that calls it (properties/driver/flashproof_add_kernel_test.cmake).
//
// --help lists its options, those of `properties` in reference/system/option_rows.cc but --with-fault and --math.
//
// A line begins with ok, FAIL, UNDECIDED (nothing failed, too little was decided), skip (the law says nothing about this kernel)
// or idle (no case that the law could decide).
// A crash, and a case that takes five minutes, are told on stderr with the command that runs the case again.
//
// stdout has one line per kernel and law with the number of cases by verdict; below a line
// that found something stand its first failing case, the witness and `replay: ` with the command that runs that case again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"

namespace flashproof {

/// Returns the exit code: 0 nothing found; 1 a finding: a case failed, or a kernel takes none of the cases;
/// 2 an argument or a declaration is wrong; 3 the machine failed (disk, memory); 4 too little was decided. 2 and 3 come with one line on stderr. The
/// kernel's form excuses nothing: a published kernel that fails is a finding. Inconclusive verdicts are counted, no finding. A law
/// that says nothing about a kernel is skipped, and says why; where that is all, the last line begins with "skipped: ".
/// `kernel_of`: the kernel of a declaration, where more is known of it (a seeded fault); by default what it declares.
int property_main(int argc, char** argv, std::span<const KernelDeclaration> kernels,
                  Kernel (*kernel_of)(const KernelDeclaration&) = nullptr);

}  // namespace flashproof
