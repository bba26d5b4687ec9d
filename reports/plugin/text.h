// What a check of a plugin says: on stdout, as JUnit XML and as JSON.
#pragma once

#include <string>

#include "kernels/plugin/load.h"
#include "reports/plugin/check.h"

namespace flashproof {

/// The library and a line per kernel and format: where it runs, what it promises.
std::string plugin_text(const Plugin& plugin);

/// The command that runs a failure's case again; `program` is what it begins with.
std::string replay_line(const std::string& program, const Plugin& plugin, const PluginResult& result);

/// The verdict's block; `verbose`: with it families × kernels, and a line per kernel and law, findings with witness and replay line.
/// Returns the exit code and says on stderr what is in neither.
int show(const PluginReport& report, const Plugin& plugin, const std::string& program, bool verbose);

/// Empty names: not written. An interrupted run writes neither: a reader would take it for a whole one.
void write_plugin_files(const PluginReport& report, const Plugin& plugin, const std::string& program,
                        const std::string& junit, const std::string& json);

}  // namespace flashproof
