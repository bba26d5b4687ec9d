// What a file of a forward kernel says of one of its forms, without what all of them have in common.
#pragma once

#include <string_view>

#include "kernels/registry.h"

namespace flashproof {

/// What a form declares beyond its arithmetic and its launch.
struct FormDetails {
  Refusal unsupported = {};
  std::int64_t (*workspace)(const Problem&) = nullptr;
  bool refuses_beyond_range = false;
};

/// The kernel `id`, which says its form. It takes every storage format. Hidden elements are isolated when hardened; a softmax
/// has no others than those behind its row, which no form of it reads.
inline KernelDeclaration declaration(std::string_view id, const Arithmetic& arithmetic, Launch launch,
                                     const FormDetails& details = {}) {
  const auto problem = static_cast<ProblemKind>(launch.index());
  const bool published = id.ends_with(".published");
  return {.id = id,
          .problem = problem,
          .form = published ? Form::published : Form::hardened,
          .formats = kStorageFormats,
          .contract = {.isolates_hidden = !published || problem == ProblemKind::softmax,
                       .refuses_beyond_range = details.refuses_beyond_range},
          .arithmetic = arithmetic,
          .unsupported = details.unsupported,
          .launch = launch,
          .workspace = details.workspace};
}

}  // namespace flashproof
