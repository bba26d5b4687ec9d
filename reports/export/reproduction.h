// A case as a reader without flashproof needs it: the inputs, for every output element the truth and what counts as right, and what a
// kernel computed. Plain tensors, so that thirty lines of Python can say whether another kernel fails here, too.
//
// Per output tensor T (o, lse; dq, dk, dv), all of its shape:
//   T.exact, T.exact_lo   f64; the exact value is exact + exact_lo, off by at most
//   T.radius              f64. An answer that special values make stands in exact as NaN or ±inf
//   T.ulp                 f64, the spacing of T's storage format at the exact value
//   T.low, T.high         f64; a number is right iff low <= number <= high (none is where low > high)
//   T.may_be              f32, a sum of 1: +inf is right, 2: -inf, 4: NaN
//   T.bound               f64, what |error| is measured against: the a-priori bound and one rounding into the format;
//                         +inf where the exact result is no number
//   T.recorded            what the kernel computed, in T's format; not there if it returned nothing
// Without a kernel no bound is known: every number is right where one is, and T.bound is +inf.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/run/plan.h"

namespace flashproof {

struct ReproducedTensor {
  std::string name;
  Format format = Format::f32;  // of the output itself
  Tensor exact, exact_lo, radius, ulp, low, high, may_be, bound, recorded;
};

struct Reproduction {
  std::string case_line;
  std::string kernel;   // empty: none
  std::string place;    // cpu, cuda, native or cpu.native
  std::string failure;  // what ended the kernel before it returned; empty: it returned, or there is none
  std::string verdict;  // in words, with the element that stands for it
  bool failed = false;
  std::vector<ReproducedTensor> outputs;

  bool has_recorded() const { return !outputs.empty() && !outputs.front().recorded.shape.empty(); }
};

/// kernel null: truth alone. Throws UsageError if the kernel does not take the problem, and what run() throws for the machine.
Reproduction reproduce(const PlannedCase& planned, const Kernel* kernel, const RunOptions& options);

/// As output_shape(), an attention's with the axes of q.
std::vector<std::int64_t> output_axes(const Problem& problem, Part part);

/// The tensors of the case that a kernel reads, under their names in the problem.
std::map<std::string, Tensor> inputs_of(const Problem& problem);

/// Every tensor of the file.
std::map<std::string, Tensor> tensors_of(const Reproduction& reproduction, std::map<std::string, Tensor> inputs);

}  // namespace flashproof
