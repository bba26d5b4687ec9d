// Where the sources were when this was built. It stands in one object file, so that all others are the same bytes wherever the tree
// lies: compare tells by them what two revisions compile alike.
#pragma once

#include <string_view>

namespace flashproof {

/// Absolute, with a slash at its end.
std::string_view source_tree();

}  // namespace flashproof
