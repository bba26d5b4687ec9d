// Test support: declarations that a library of kernels may make, as the JSON of its description.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
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
///   preset    every one, and none; of a gradient also no preset and an exp_error, which says most
///   field     every field of arithmetic_fields.h (of a gradient that of reference/bound/backward), one at a time beside one of those:
///             each enumerator, both truth values, the ends and middles of each range
///   joint     `draws` times: fields at random in all, by what the bounds are attacked with and over their whole ranges
///   contract  each flag, and each thing that may be returned, beside the arithmetic that says least and one that says most
///   semantics every value of every field, and every preset, beside the same two; of a gradient there are none
///   limits    each axis held to 1 and to 2; nothing but the plain problem, by strides, and one feature beside it
std::vector<AdversaryDeclaration> adversary_declarations(ProblemKind problem, Format format, int draws,
                                                         std::uint64_t seed);

/// A kernel with this declaration, as load.cc makes it, without code: a Runner stands in.
class DeclaredKernel {
 public:
  explicit DeclaredKernel(const AdversaryDeclaration& declaration);
  DeclaredKernel(const DeclaredKernel&) = delete;
  DeclaredKernel& operator=(const DeclaredKernel&) = delete;

  const Kernel& kernel() const { return kernel_; }
  /// What a check must have tested; of a gradient alone. A forward kernel is let take here what some forms have no bound for, as joins
  /// under a flat merge: check finds that, and this test is not about it.
  std::span<const Capability* const> declared() const {
    if (kernel_.problem != ProblemKind::backward) return {};
    return described_.declared;
  }

 private:
  Described described_;
  Kernel kernel_;
};

}  // namespace flashproof
