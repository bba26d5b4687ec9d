// The main program of a property test: every law over every input family, for the kernels that it is given. In a CMake
// project flashproof_add_kernel_test() writes the main that calls it (properties/driver/flashproof_add_kernel_test.cmake).
//
//   --kernel GLOB   kernels to test (* and ?), may be repeated; default all of `kernels`
//   --law GLOB      laws to ask, may be repeated; default all of properties/laws/law.h. Whatever is asked, a run in which a judging
//                   law fails is undecided: that NaN equals NaN is no pass
//   --family GLOB   input families, may be repeated; default all that serve the kernel's problem
//   --seed N        of RapidCheck, 0..18446744073709551615; default 1: the same seed is the same run
//   --cases N       cases drawn per kernel and family, 1..1000000; default 6
//   --turns N       1..64: once a law that does not judge has decided three cases of a kernel, it is asked on one family in N, in turn,
//                   so that every law still meets every kernel and every family; default 1, on each
//   --program TEXT  what replay lines begin with, a command that is quoted already; default this program
//   --replay CASE   a witness file or case line instead of the families; several that contradict each other
//   --judged WHERE  elsewhere: the judging laws have a run of their own, as the tests of a project, a law each; default here
//   --junit FILE    JUnit XML: a test case per kernel and law, witness and replay line in every failure message
//   --json FILE     the same counts and findings
//   --out DIR       where the witnesses go, one per finding; default none are written
//
// A line begins with ok, FAIL, UNDECIDED (nothing failed, too little was decided), skip (the law says nothing about this kernel)
// or idle (no case that the law could decide).
// A crash, and a case that takes five minutes, are told on stderr with the command that runs the case again.
//
// Every option takes one value. stdout has one line per kernel and law with the number of cases by verdict; below a line
// that found something stand its first failing case, the witness and `replay: ` with the command that runs that case again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"

namespace flashproof {

struct PropertyOptions;  // property_run.h

/// Returns the exit code: 0 nothing found; 1 a finding: a case failed, or a kernel takes none of the cases;
/// 2 an argument or a declaration is wrong; 3 the machine failed (disk, memory); 4 too little was decided. 2 and 3 come with one line on stderr. The
/// kernel's form excuses nothing: a published kernel that fails is a finding. Inconclusive verdicts are counted, no finding. A law
/// that says nothing about a kernel is skipped, and says why; where that is all, the last line begins with "skipped: ".
/// `kernel_of`: the kernel of a declaration, where more is known of it (a seeded fault); by default what it declares.
int property_main(int argc, char** argv, std::span<const KernelDeclaration> kernels,
                  Kernel (*kernel_of)(const KernelDeclaration&) = nullptr);

}  // namespace flashproof
