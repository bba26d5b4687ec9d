#include "reference/system/source_tree.h"

namespace flashproof {

std::string_view source_tree() { return FLASHPROOF_SOURCE_TREE; }

}  // namespace flashproof
