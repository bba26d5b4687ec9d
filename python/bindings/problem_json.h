// A problem as Python sees it and back: an object of plain values and of arrays that hold raw bits, so that bf16 and fp8 need no
// dtype that NumPy lacks. Python copies what it is shown, with the problem's own strides: whatever the caller does to it, the
// problem stays as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "python/bindings/door.h"
#include "reference/problem/problems.h"

namespace flashproof::python {

// What goes to Python is text, written as it is: a third of what an object of nlohmann takes, and a callable is called some 10,000 times.

/// An array: [what its elements are: a format, or a dtype of NumPy, shape, strides in bytes, address, bytes].
std::string placed(std::string_view elements, const void* first, std::span<const std::int64_t> shape,
                   std::span<const std::int64_t> strides, std::size_t bytes);

/// Members: "problem", "format", then those of the problem that it uses, by their names in problems.h ("boundary" and "order" for
/// the plan; "window" is the pair [left, right]). Of a gradient those of attention and dO as "do". The problem must outlive it.
std::string to_json(const Problem& problem);
/// The same without the plan, of which no callable of a forward problem is told: in a call, an array more is some microseconds.
std::string to_arguments(const Problem& problem);

/// The inverse, but a tensor is the pair [format, array of its bits]. Without "boundary" the plan is one chunk, and a gradient is in
/// gradient mode. Throws UsageError naming the member; the result is valid().
Problem from_json(const Json& json);

/// A dense tensor of this format from an array of Python: {"address", "shape", "itemsize"}, or null of one that is not
/// C-contiguous. Throws UsageError that begins with `name`.
Tensor tensor_of(std::string_view name, Format format, const Json& array);

/// Throws UsageError that lists what is legal.
ProblemKind problem_kind(std::string_view name);
Format format_named(std::string_view name);

}  // namespace flashproof::python
