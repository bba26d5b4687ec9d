// The command line of a property test: the options of the table (reference/system/option_rows.cc), and what they run.
#pragma once

#include <span>

#include "properties/driver/property_run.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

/// All of the table's but those on flashproof's own kernels alone (registry_main.cc). Both must outlive the parsing.
void add_property_options(CLI::App& app, PropertyOptions& options);

/// Runs the laws, prints and writes what there is, and returns the exit code of property_main(). `program` of the options is set.
int property_tests(PropertyOptions options, std::span<const KernelDeclaration> kernels);

}  // namespace flashproof
