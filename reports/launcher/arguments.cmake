# The arguments of plan.cmake, and its answers: what ./flashproof was given after the command.

function(finish first second)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${first}\n${second}${ARGN}")  # ARGN: none, or a newline and more
endfunction()

# `text` fit for a terminal, whatever it holds, in quotes.
function(quote text result)
  string(SUBSTRING "${text}" 0 40 text)
  string(REGEX REPLACE "[^ -~]" "?" text "${text}")
  set(${result} "'${text}'" PARENT_SCOPE)
endfunction()

# The last value of an option, given as OPTION VALUE or OPTION=VALUE; result_given: whether it is there, MISSING if a value is not.
function(value_of option result)
  set(found OFF)
  set(value "")
  set(at ${first_argument})
  while(at LESS CMAKE_ARGC)
    set(word "${CMAKE_ARGV${at}}")
    if("x${word}" STREQUAL "x${option}")
      math(EXPR at "${at} + 1")
      set(found ON)
      set(value "${CMAKE_ARGV${at}}")
      if(NOT at LESS CMAKE_ARGC)
        set(found MISSING)
      endif()
    elseif("x${word}" MATCHES "^x${option}=")
      set(found ON)
      string(REGEX REPLACE "^x${option}=" "" value "x${word}")
    endif()
    math(EXPR at "${at} + 1")
  endwhile()
  set(${result} "${value}" PARENT_SCOPE)
  set(${result}_given ${found} PARENT_SCOPE)
endfunction()

# The argument that is a path of a library: with a slash, or with the ending of a library or of what one is compiled from; not the value
# of an option. As is_plugin_command() of reports/plugin has it.
function(find_library_argument result)
  set(${result} "" PARENT_SCOPE)
  set(before "")
  set(at ${first_argument})
  while(at LESS CMAKE_ARGC)
    set(word "${CMAKE_ARGV${at}}")
    if("x${word}" MATCHES "^x[^-]" AND ("x${word}" MATCHES "\\.so$" OR (NOT "x${before}" MATCHES "^x--[a-z-]+$"
        AND "x${word}" MATCHES "/|\\.(c|cc|cpp|cu|o|py)$")))
      set(${result} "${word}" PARENT_SCOPE)
      return()
    endif()
    set(before "${word}")
    if("x${word}" MATCHES "^x--(quick|nightly|verbose)$")  # take no value
      set(before "")
    endif()
    math(EXPR at "${at} + 1")
  endwhile()
endfunction()

# A file that is not there shows before a build, and before one that another call makes is waited for.
macro(require_file what path legal)
  cmake_path(ABSOLUTE_PATH ${path} BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" OUTPUT_VARIABLE absolute)
  if(NOT EXISTS "${absolute}" OR IS_DIRECTORY "${absolute}")
    quote("${${path}}" shown)
    finish("exit 2" "${what} ${shown}: no such file, legal: ${legal}")
    return()
  endif()
endmacro()

set(first_argument 0)
while(first_argument LESS CMAKE_ARGC)
  math(EXPR first_argument "${first_argument} + 1")
  math(EXPR before "${first_argument} - 1")
  if("x${CMAKE_ARGV${before}}" STREQUAL "x--")
    break()
  endif()
endwhile()
