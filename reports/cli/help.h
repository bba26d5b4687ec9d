// What `flashproof` itself says of its commands: those that one begins with first, then the others by what they are for.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

/// Every command, group by group. Throws InfrastructureError for one that is in no group.
std::vector<const CLI::App*> commands_in_order(const CLI::App& app);

/// The text of --help without a command, which ./flashproof shows before anything is built (help.txt).
std::string help_text(const CLI::App& app);

/// Makes it the app's own help; that of each command stays CLI11's. Also --version.
void set_help(CLI::App& app);

}  // namespace flashproof
