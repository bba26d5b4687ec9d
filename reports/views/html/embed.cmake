# Writes the files of the page into one C++ file, as bytes, with the hashes that its Content-Security-Policy names.
# cmake -DPAGE=DIR -DCHART_JS=FILE -DSCRIPTS=a.js,b.js -DOUT=FILE -P embed.cmake
cmake_minimum_required(VERSION 3.25)

# The hash of a text in base64, which CMake has no function for: six hexadecimal digits are four letters.
function(base64_sha256 text result)
  string(SHA256 hex "${text}")
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(out "")
  foreach(at RANGE 0 60 6)  # 64 digits: the last group has four, and is filled with zeros
    string(SUBSTRING "${hex}00" ${at} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR letter "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING ${alphabet} ${letter} 1 letter)
      string(APPEND out ${letter})
    endforeach()
  endforeach()
  string(SUBSTRING "${out}" 0 43 out)
  set(${result} "'sha256-${out}='" PARENT_SCOPE)
endfunction()

function(bytes_of name text)
  file(WRITE ${OUT}.part "${text}")
  file(READ ${OUT}.part hex HEX)
  file(REMOVE ${OUT}.part)
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(APPEND code "constexpr unsigned char k_${name}[] = {${hex}0};\n")
  set(code "${code}" PARENT_SCOPE)
endfunction()

# A script in a page ends at the first of these, whatever it stands in.
function(check_inline file text)
  string(TOLOWER "${text}" lower)
  if(lower MATCHES "</script|<!--|</style")
    message(FATAL_ERROR "${file}: holds </script, </style or <!--, and so cannot stand in a page")
  endif()
endfunction()

file(READ ${PAGE}/page.html page)
file(READ ${PAGE}/page.css style)
file(READ ${PAGE}/head.js head)
file(READ ${PAGE}/chart_licence.js licence)
file(READ ${CHART_JS} charts)
string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" charts "${charts}")
string(PREPEND charts "${licence}")
set(script "(() => {\n'use strict';\n")
string(REPLACE "," ";" scripts "${SCRIPTS}")
foreach(name IN LISTS scripts)
  file(READ ${PAGE}/${name} text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")

set(code "")
set(fields ".page = characters(k_page, sizeof k_page)")
bytes_of(page "${page}")
foreach(name style head charts script)
  check_inline(${name} "${${name}}")
  base64_sha256("${${name}}" hash)
  bytes_of(${name} "${${name}}")
  string(APPEND fields ", .${name} = characters(k_${name}, sizeof k_${name})")
  string(APPEND hashes ", .${name}_hash = \"${hash}\"")
endforeach()
file(WRITE ${OUT} "// Written by embed.cmake.
#include \"reports/views/html/page_files.h\"
namespace flashproof::html {
namespace {
// NOLINTBEGIN(readability-identifier-naming)
${code}// NOLINTEND(readability-identifier-naming)
std::string_view characters(const unsigned char* bytes, std::size_t size) { return {reinterpret_cast<const char*>(bytes), size - 1}; }
}  // namespace
PageFiles page_files() { return {${fields}${hashes}}; }
}  // namespace flashproof::html
")
