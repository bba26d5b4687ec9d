// A check of a plugin as the block that ends it.
#pragma once

#include <string>

#include "kernels/plugin/load.h"
#include "reports/plugin/check.h"
#include "reports/views/terminal/verdict_block.h"

namespace flashproof {

/// "softmax.mine f16".
std::string full_name(const Kernel& kernel);

/// The input families of which a pass says nothing, and why, of more than `most` the number; the words in brackets are those of
/// reports/guides/reading.md.
std::string not_tested_text(const PluginOutcome& outcome, std::size_t most);
/// "153 cases that its description takes, when it was called", and what was not asked of it any more.
std::string refused_text(const PluginOutcome& outcome);
std::string not_asked_text(const PluginOutcome& outcome);

/// Of a report with results. `program`: what a replay line begins with.
VerdictBlock plugin_block(const PluginReport& report, const Plugin& plugin, const std::string& program);

}  // namespace flashproof
