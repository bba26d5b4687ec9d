# What plan.cmake says to ./flashproof, line by line:
#
#   PRESET TESTS ARCHITECTURES TARGET GROUP...
#   what is to be said on stderr, or nothing
#   a word of the command line that is run, before the arguments: a line each
#
# TESTS is ON, FAULTS for the seeded faults alone, or OFF, ARCHITECTURES are of the CUDA build or none, TARGET is what to build, none where nothing is, or help where the
# text of all commands is shown; GROUP is one of packages.txt. Or "exit CODE" where that is all; what follows its second line is for stdout.
cmake_path(SET root NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../flashproof")
cmake_path(GET root PARENT_PATH root)

function(finish first second)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${first}\n${second}${ARGN}")  # ARGN: none, or a newline and more
endfunction()

# The words that run `built`, a line each and a newline before it.
function(words_of built result)
  set(script "python3\n-B\n${root}")
  string(REPLACE " " "\n" told "\n${options}")
  string(REGEX REPLACE "\n+$" "" told "${told}")
  if(command STREQUAL "campaign")
    set(words "${script}/fuzz/campaign/campaign.py\n--flashproof\n${root}/flashproof\n--driver\n${built}")
  elseif(command STREQUAL "setup" AND target STREQUAL "none")
    set(words "${script}/reports/launcher/setup_cuda.py\n${root}")
  elseif(command STREQUAL "properties")
    set(words "${built}\n--program\n./flashproof properties\n--out\nout/properties")
  elseif(command MATCHES "^(fuzz|run)$" OR program MATCHES "/flashproof-(plugin|ptx)$")
    set(words "${built}\n${command}")
  else()
    set(words "${built}${told}\n${command}")
  endif()
  set(${result} "\n${words}" PARENT_SCOPE)
endfunction()

# Of what plan.cmake has found: nothing is built of what is there and only shown, of --no-build, or that this CPU could not run.
function(answer)
  set(built "${root}/build/${preset}/${program}")
  words_of("${built}" words)
  if(target STREQUAL "help")
    if(EXISTS "${built}" OR command STREQUAL "campaign")
      set(target none)
    endif()
  elseif(target STREQUAL "flashproof-fuzz" AND EXISTS "${built}")
    set(target none)
  elseif(NOT target STREQUAL "none")
    cpu_has(avx2 avx2)
    cpu_has(fma fma)
    if(NOT preset STREQUAL "portable" AND NOT (avx2 AND fma))
      finish("exit 3" "/proc/cpuinfo has no AVX2 and FMA, which the build (x86-64-v3) needs; --portable builds a slow one that runs anywhere")
      return()
    elseif(" ${options} " MATCHES " --no-build ")
      if(NOT EXISTS "${built}")
        finish("exit 3" "--no-build: ${built} is not there; without --no-build the same command builds it")
        return()
      endif()
      set(target none)
    endif()
  endif()
  list(JOIN groups " " groups)
  finish("${preset} ${tests} ${architectures} ${target} ${groups}" "${note}" "${words}")
endfunction()
