// A problem as Python sees it and back: a dict of plain values and of NumPy arrays that hold raw bits, so that bf16 and fp8
// need no dtype that NumPy lacks. A tensor is the pair (format name, array of uint8, uint16 or uint32), with the problem's own
// strides and a copy of its storage: whatever the caller does to it, the problem stays as it is.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "reference/problem/problems.h"

namespace flashproof::python {

/// Keys: "problem", "format", then the members of the problem that it uses, by their names in problems.h ("boundary" and "order"
/// for the plan; "window" is the pair (left, right)). Of a gradient those of attention and dO as "do".
nanobind::dict to_dict(const Problem& problem);
/// The same without the plan, of which no callable of a forward problem is told: in a call, an array more is some microseconds.
nanobind::dict to_arguments(const Problem& problem);

/// The inverse. Arrays must be C-contiguous and hold the bits of the format that stands beside them; without "boundary" the plan
/// is one chunk, and a gradient is in gradient mode. Throws UsageError naming the member; the result is valid().
Problem from_dict(const nanobind::dict& dict);

/// The pair (format name, bits) of one tensor, as in the dict.
nanobind::tuple to_pair(const Tensor& tensor);

/// A dense tensor of this format from an array of its bits. Throws UsageError that begins with `name`.
Tensor tensor_of(std::string_view name, Format format, nanobind::handle array);

/// Throws UsageError that lists what is legal.
ProblemKind problem_kind(std::string_view name);
Format format_named(std::string_view name);

}  // namespace flashproof::python
