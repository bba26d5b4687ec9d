// Functions that an entry calls become code of the entry: each once, in front of those that call it. Their parameters are memory of
// the thread, and the block of code to go back to is a register, so that every lane returns to where it came from.
#pragma once

#include <string>
#include <vector>

#include "kernels/ptx/parse/module.h"

namespace flashproof::ptx {

/// One entry may hold so many instructions, those of its functions among them: the compiler takes 0.1 to 0.3 ms for each of a usual kernel,
/// some ms where a block is full of large ones.
inline constexpr std::size_t kMaxTranslatedInstructions = 50000;

/// The label in front of the entry's first own instruction. No label of a file has a blank.
inline constexpr const char* kStartLabel = "start of entry";

/// The forms that "call" and a function's "ret" become. No form of a file has a blank.
inline constexpr const char* kCall = "call of function";        // label, register of the way back, arguments, results
inline constexpr const char* kReturn = "return from function";  // register of the way back

/// A call of what the driver brings (run/print.h) becomes an instruction of its own: arguments, results.
inline constexpr const char* kDriverCall = " of the driver";  // behind the function's name

/// The functions that the entry reaches by calls, and itself as the last one; a function that is called stands before its callers.
/// Throws UsageError for a function that is not there or calls itself, and for a call through a register.
std::vector<const Entry*> reached_functions(const Module& module, const Entry& entry);

/// The entry with the functions it reaches. Throws UsageError as above, and where arguments and parameters differ.
Entry with_functions(const Module& module, const Entry& entry);

}  // namespace flashproof::ptx
