// flashproof(1), written from the declarations of the options.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace flashproof {

/// In the man macros of troff, ASCII alone. What is Markdown in the texts of the commands becomes bold, links their target in brackets.
std::string man_page(const CLI::App& app);

}  // namespace flashproof
