// Test support: declarations that a library of kernels may make, as the JSON of its description.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plugin/description.h"

namespace flashproof {

struct AdversaryDeclaration {
  std::string group;  // preset, field, joint, contract, semantics, limits
  std::string json;
  ProblemKind problem;
  Format format;
};

/// Of kernels for this problem and format, all that describe() takes:
///   preset    every one, and none
///   field     every field of arithmetic_fields.h, one at a time in place of a preset's: each enumerator, both truth values, the ends
///             and middles of each range
///   joint     `draws` times: fields at random in all, by what the bounds are attacked with and over their whole ranges
///   contract  each flag, and each thing that may be returned, beside the preset that says least and one that says most
///   semantics every value of every field, and every preset, beside the preset of arithmetic that says most and that says least
///   limits    each axis held to 1 and to 2; nothing but the plain problem; strides
std::vector<AdversaryDeclaration> adversary_declarations(ProblemKind problem, Format format, int draws,
                                                         std::uint64_t seed);

/// A kernel with this declaration, as load.cc makes it, without code: a Runner stands in.
class DeclaredKernel {
 public:
  explicit DeclaredKernel(const AdversaryDeclaration& declaration);
  DeclaredKernel(const DeclaredKernel&) = delete;
  DeclaredKernel& operator=(const DeclaredKernel&) = delete;

  const Kernel& kernel() const { return kernel_; }

 private:
  Described described_;
  Kernel kernel_;
};

}  // namespace flashproof
