// The files below page/ and the plotting library, as the build embedded them (embed.cmake).
#pragma once

#include <string_view>

namespace flashproof::html {

struct PageFiles {
  std::string_view page;    // page.html, with {{names}} for what is filled in
  std::string_view style;   // page.css
  std::string_view head;    // head.js: runs before anything is painted
  std::string_view charts;  // Chart.js with its licence
  std::string_view script;  // the other .js files
  // 'sha256-...' of the texts above, for the Content-Security-Policy.
  std::string_view style_hash, head_hash, charts_hash, script_hash;
};
PageFiles page_files();

}  // namespace flashproof::html
