# What this machine has: of the CPU what the build needs, and what CUDA does.

# Whether /proc/cpuinfo has the flag: yes or no.
function(cpu_has flag result)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  set(${result} no PARENT_SCOPE)
  if("${flags} " MATCHES " ${flag} ")
    set(${result} yes PARENT_SCOPE)
  endif()
endfunction()

# As the top CMakeLists.txt looks for it; last, what ./flashproof setup --cuda installed.
function(find_nvcc result)
  find_program(nvcc nvcc NO_CACHE HINTS "$ENV{CUDA_PATH}/bin" "$ENV{CUDA_HOME}/bin" PATHS
    /usr/local/cuda/bin ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../.cuda/nvidia/cu13/bin)
  if(NOT nvcc)
    set(nvcc "")
  endif()
  set(${result} "${nvcc}" PARENT_SCOPE)
endfunction()

# A list, one element a GPU; empty without a usable driver. One that hangs is not waited for.
function(gpu_facts field result)
  set(facts "")
  execute_process(COMMAND timeout -k 1 5 nvidia-smi --query-gpu=${field} --format=csv,noheader
    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(status EQUAL 0)
    string(REPLACE ";" "," facts "${said}")
    string(REPLACE "\n" ";" facts "${facts}")
  endif()
  set(${result} "${facts}" PARENT_SCOPE)
endfunction()

# The value for CMAKE_CUDA_ARCHITECTURES: the environment's word, else what the GPUs here are, else Hopper. 90 becomes 90a, as
# the default is. Empty: the environment's word is wrong.
function(cuda_architectures result)
  set(found "")
  set(one "[1-9][0-9][0-9]?[af]?(-real|-virtual)?")
  set(told "$ENV{FLASHPROOF_CUDA_ARCHITECTURES}")
  if(NOT told STREQUAL "")
    if(told MATCHES "^${one}(;${one})*$" AND NOT told MATCHES "\n")
      set(found "${told}")
    endif()
    set(${result} "${found}" PARENT_SCOPE)
    return()
  endif()
  gpu_facts(compute_cap capabilities)
  foreach(capability IN LISTS capabilities)
    if(capability MATCHES "^([1-9][0-9]?)\\.([0-9])$")  # not "[N/A]", or what an old driver complains
      set(capability ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
      string(REGEX REPLACE "^90$" "90a" capability ${capability})
      list(APPEND found ${capability})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES found)
  if(found STREQUAL "")
    set(found 90a)
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Whether a CUDA build can run here: yes and its architectures, no and why, or wrong and why.
function(cuda_build preset result why)
  set(${result} no PARENT_SCOPE)
  gpu_facts(name names)
  find_nvcc(nvcc)
  cuda_architectures(architectures)
  if(names STREQUAL "")
    set(${why} "no usable GPU (nvidia-smi finds none)" PARENT_SCOPE)
  elseif(nvcc STREQUAL "")
    set(${why} "no nvcc (looked in PATH, CUDA_PATH, CUDA_HOME, /usr/local/cuda and .cuda; ./flashproof setup --cuda installs one)"
      PARENT_SCOPE)
  elseif(preset STREQUAL "portable")
    set(${why} "--portable has no CUDA build" PARENT_SCOPE)
  elseif(architectures STREQUAL "")
    string(REGEX REPLACE "[^ -~]" "?" told "$ENV{FLASHPROOF_CUDA_ARCHITECTURES}")
    string(SUBSTRING "${told}" 0 40 told)
    set(${result} wrong PARENT_SCOPE)
    set(${why} "FLASHPROOF_CUDA_ARCHITECTURES='${told}': numbers like 80 or 90a, joined by ;" PARENT_SCOPE)
  else()
    set(${result} yes PARENT_SCOPE)
    set(${why} "${architectures}" PARENT_SCOPE)
  endif()
endfunction()
